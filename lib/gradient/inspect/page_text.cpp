// The HTML page of a tape. The script places the nodes in rows and draws them as SVG. An address may choose:
// #node=3&filter=exp&sort=bytes&down. Text of the program reaches the page as text nodes and
// attributes only, so that nothing in it is read as HTML.
//
// Placement: a row has at most 8 nodes; an op is below what it reads, a source above its first reader. A node goes to
// the mean of its neighbours in the row before (in turns: below), a source to the right of it. Nodes of a row that
// would overlap move as a group.
#include "gradient/inspect/page_text.hpp"

namespace reel::autodiff {

const std::string_view page_before = R"html(<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Tape</title>
<style>
:root { color-scheme: light dark; --back: #fff; --card: #f5f7f9; --text: #1b1f24; --dim: #59636e; --edge: #a3adb8;
  --near: #0072b2; --chosen: #d55e00; --source: #e2f0f9 }
@media (prefers-color-scheme: dark) { :root { --back: #14171b; --card: #1f242a; --text: #e6eaee; --dim: #9ba6b2;
  --edge: #5b6672; --near: #56b4e9; --chosen: #f0a050; --source: #173447 } }
body { margin: 0 auto; max-width: 110rem; padding: 0 1rem; font: 14px/1.45 system-ui, sans-serif;
  background: var(--back); color: var(--text) }
h1 { font-size: 20px; margin: 1rem 0 0 } h2 { font-size: 16px; margin: 0 } h3 { font-size: 14px; margin: .8rem 0 .2rem }
p, dt { color: var(--dim) } p { margin: 0 0 .6rem } dd { margin: 0 }
nav { display: flex; gap: .5rem; align-items: center; margin-bottom: .6rem }
input { flex: 1; min-width: 0; max-width: 24rem }
input, button { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--edge); border-radius: 6px;
  padding: .25rem .6rem }
:focus-visible { outline: 2px solid var(--near) }
main { display: grid; gap: 1rem; grid-template-columns: minmax(0, 1fr) }
main > * { border: 1px solid var(--edge); border-radius: 8px; overflow: auto; max-height: 70vh }
aside { padding: .8rem; overflow-wrap: anywhere }
@media (min-width: 900px) { main { grid-template-columns: minmax(0, 1fr) 19rem } #list { grid-column: 1 / 3 } }
dl { display: grid; grid-template-columns: auto 1fr; gap: .1rem .8rem; margin: .5rem 0 }
aside button { display: block; width: 100%; text-align: left; margin: .2rem 0 }
svg { display: block; width: 100%; margin: auto; font-size: 11px; text-anchor: middle } text { fill: var(--dim) }
.name { fill: var(--text); font-weight: 600 } .node { cursor: pointer; outline: none }
rect { fill: var(--card); stroke: var(--edge) } .source rect { fill: var(--source) } .earlier rect { stroke-dasharray: 4 3 }
.near rect { stroke: var(--near); stroke-width: 2.5 } .chosen rect { stroke: var(--chosen); stroke-width: 3 }
.node:focus-visible rect { stroke: var(--text) } .node .kept { fill: var(--near); stroke: none } .other { opacity: .25 }
path { fill: none; stroke: var(--edge) } .into, .out { stroke: var(--near); stroke-width: 2.5 } .out { stroke: var(--chosen) }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; padding: .2rem .6rem; white-space: nowrap }
thead { position: sticky; top: 0; background: var(--back) } .number { text-align: right } tr.chosen { background: var(--card) }
th button, td button { border: 0; padding: 0; font-weight: 600; background: none } td button { color: var(--near) }
</style>
<h1>Tape</h1>
<p id="totals"></p>
<nav><label for="filter">Filter</label><input id="filter" type="search" placeholder="op, shape or line">
<span id="parts"><button type="button" id="back" aria-label="previous part">&lt;</button><span id="part"></span>
<button type="button" id="next" aria-label="next part">&gt;</button></span></nav>
<main><div id="graph"></div><aside aria-live="polite"></aside><div id="list"><table></table></div></main>
<script type="application/json" id="data">)html";

const std::string_view page_behind = R"html(</script>
<script>
'use strict';
const PART = 300, WIDE = 176, HIGH = 88, BOX = 156, TALL = 58, $ = s => document.querySelector(s);
const data = JSON.parse($('#data').textContent), nodes = data.nodes;
const columns = {op: '#', name: 'Name', result: 'Result', bytes: 'Kept', forward: 'Op time', backward: 'Rule time', line: 'Called at'};
let node, part = 0, sort, down, at;
nodes.forEach((n, i) => {
  Object.assign(n, {id: i, users: [], inputs: n.inputs || [], kind: n.op >= 0 ? 'op' : n.results ? 'source' : 'target'});
  n.title = [n.name, n.op].join(' ').trim();
  n.result = (n.results || nodes[n.inputs[0]].results).join(', ');
  n.words = [n.title, n.result, n.line].join(' ').toLowerCase();
  for (const k of n.inputs) if (k >= 0) nodes[k].users.push(i);
});
const total = key => nodes.reduce((s, n) => s + (n[key] || 0), 0), most = nodes.reduce((m, n) => Math.max(m, n.bytes || 0), 1);
const keys = Object.keys(columns).filter(k => nodes.some(n => k in n)), text = k => /name|result|line/.test(k);
function show(k, v) {
  if (v === undefined || k === 'op' || text(k)) return v ?? '';
  const units = k === 'bytes' ? ['B', 'kB', 'MB', 'GB', 'TB'] : ['ns', 'µs', 'ms', 's'];
  let u = 0;
  for (; v >= 999.5 && units[u + 1]; ++u) v /= 1000;
  return (u && v < 99.5 ? v.toPrecision(2) : Math.round(v)) + ' ' + units[u];
}
function make(tag, attributes, ...children) {
  const space = /svg|^g|rect|path|text/.test(tag) ? '2000/svg' : '1999/xhtml', e = document.createElementNS('http://www.w3.org/' + space, tag);
  for (const k in attributes) k === 'onclick' ? e[k] = attributes[k] : e.setAttribute(k, attributes[k]);
  e.append(...children);
  return e;
}
const button = (text, onclick) => make('button', {type: 'button', onclick}, text), link = (k, text) => button(text, () => choose(k));

function place(list) {
  const level = {}, levels = [], rows = [], x = {}, all = new Set(list), inside = l => l.filter(k => all.has(k));
  const ins = n => inside(nodes[n].inputs), outs = n => inside(nodes[n].users), first = n => !ins(n).length;
  for (const n of list) level[n] = Math.max(0, ...ins(n).map(k => level[k] + 1));
  for (const n of list) if (first(n)) level[n] = outs(n).reduce((l, k) => Math.min(l, level[k] - 1), 1e9) % 1e9;
  for (const n of list) (levels[level[n]] ||= []).push(n);
  for (const l of levels) while (l.length) rows.push(l.splice(0, 8));
  for (const r of rows) r.forEach((n, i) => x[n] = (i - r.length / 2) * WIDE);
  const mean = (l, n) => l.length ? l.reduce((s, k) => s + x[k], 0) / l.length : x[n];
  for (let round = 0; round < 10; ++round, rows.reverse()) for (const r of rows) {
    const want = {}, groups = [];
    for (const n of r) {
      const ops = ins(n).filter(k => !first(k)), aside = first(n) && outs(n).some(k => !ins(k).every(first));
      want[n] = mean(round % 2 || first(n) ? outs(n) : ops.length ? ops : ins(n), n) + aside * WIDE;
    }
    r.sort((a, b) => want[a] - want[b] || a - b).forEach((n, i) => {
      let g = [want[n] - i * WIDE, 1];
      for (let a; (a = groups.at(-1)) && a[0] > g[0]; groups.pop()) g = [(a[0] * a[1] + g[0] * g[1]) / (a[1] + g[1]), a[1] + g[1]];
      groups.push(g);
    });
    groups.flatMap(([left, size]) => Array(size).fill(left)).forEach((left, i) => x[r[i]] = left + i * WIDE);
  }
  at = {};
  rows.forEach((r, y) => r.forEach((n, i) => at[n] = {x: x[n], y: y * HIGH, left: r[i - 1], right: r[i + 1]}));
}
function edge(from, to) {
  const a = at[from], b = at[to], y = a.y + TALL, far = b.y - a.y > HIGH;
  const side = far ? (a.x > b.x + 9 ? 150 : -150) : 0, bend = far ? 70 : 17;
  return make('path', {'data-from': from, 'data-to': to,
    d: `M${a.x} ${y}C${a.x + side} ${y + bend} ${b.x + side} ${b.y - bend} ${b.x} ${b.y}`});
}
function box(n) {
  const facts = keys.filter(k => /bytes|ward/.test(k) && n[k] >= 0).map(k => show(k, n[k])).join(' · '), {x, y} = at[n.id];
  const lines = [n.title, n.result, facts || n.kind];
  return make('g', {id: 'n' + n.id, role: 'button', 'aria-label': lines.join(), transform: `translate(${x} ${y})`, onclick: () => choose(n.id)},
    make('rect', {x: -BOX / 2, width: BOX, height: TALL, rx: n.kind === 'op' ? 6 : 29}),
    make('rect', {class: 'kept', x: 6 - BOX / 2, y: 51, width: (BOX - 12) * (n.bytes || 0) / most, height: 3}),
    ...lines.map((s, k) => make('text', {y: 17 + 14 * k, class: k ? '' : 'name'}, s.length > 20 + 5 * !!k ? s.slice(0, 19 + 5 * !!k) + '…' : s)));
}
function draw() {
  const start = part * PART, own = nodes.slice(start, start + PART), graph = $('#graph');
  const shown = [...new Set(own.flatMap(n => [n.id, ...n.inputs]))].filter(k => k >= 0).sort((a, b) => a - b);
  place(shown);
  const [xs, ys] = ['x', 'y'].map(c => [0, ...shown.map(k => at[k][c])]), left = Math.min(...xs) - 120, wide = Math.max(...xs) + 90 - left;
  graph.replaceChildren(make('svg', {viewBox: `${left} -12 ${wide} ${Math.max(...ys) + HIGH}`, style: `max-width: ${wide}px; min-width: ${wide * .65}px`},
    ...own.flatMap(n => n.inputs.filter(k => k >= 0).map(k => edge(k, n.id))), ...shown.map(k => box(nodes[k]))));
  graph.scrollLeft = (graph.scrollWidth - graph.clientWidth) / 2;
  $('#part').textContent = `${start + 1}–${start + own.length} of ${nodes.length}`;
  $('#parts').hidden = nodes.length <= PART;
  $('#back').disabled = !part;
  $('#next').disabled = start + PART >= nodes.length;
}
function details(n) {
  const side = $('aside');
  side.replaceChildren(make(n ? 'h2' : 'p', {}, n ? n.title : 'Choose a node. Arrow keys go to inputs, readers and neighbours. '
    + 'A box has the bytes kept, as a bar too, and the times of the op and of its rule.'));
  if (!n) return;
  side.append(make('dl', {}, ...keys.slice(2).flatMap(k => k in n ? [make('dt', {}, columns[k]), make('dd', {}, show(k, n[k]))] : [])));
  for (const [what, list] of [['Inputs', n.inputs], ['Readers', n.users]]) side.append(make('h3', {}, `${what}: ${list.length}`),
    ...list.slice(0, 50).map(k => k < 0 ? 'a constant' : link(k, nodes[k].title)));
}
function table(list) {
  const value = n => n[sort] ?? (text(sort) ? '' : -1), compare = (a, b) => a < b ? -1 : +(a > b);
  list.sort((a, b) => (down ? -1 : 1) * compare(value(a), value(b)) || a.id - b.id);
  const cell = (tag, k, more, child) => make(tag, {class: text(k) ? '' : 'number', ...more}, child);
  const head = keys.map(k => cell('th', k, {id: k, 'aria-sort': k !== sort ? 'none' : down ? 'descending' : 'ascending'},
    button(columns[k] + (k !== sort ? '' : down ? ' ▼' : ' ▲'), () => {
      [sort, down] = [k, k === sort ? !down : !text(k)];
      mark();
      $(`#${k} button`).focus();
    })));
  const rows = list.slice(0, PART).map(n => make('tr', {class: n.id === node ? 'chosen' : ''}, ...keys.map(k => cell('td', k, {},
    k === 'name' ? link(n.id, n.name) : k === 'line' ? (n.line || '').replace(/.*[/\\]/, '') : show(k, n[k])))));
  $('table').replaceChildren(make('thead', {}, make('tr', {}, ...head)), make('tbody', {}, ...rows));
}
function mark() {
  const n = nodes[node], words = $('#filter').value.toLowerCase().split(' '), fits = m => words.every(w => m.words.includes(w));
  for (const e of $('svg').children) {
    const m = nodes[e.id.slice(1)], {from, to} = e.dataset, near = n && m && [...n.inputs, ...n.users].includes(m.id);
    if (m) e.setAttribute('tabindex', m.id === (n ? node : part * PART) ? 0 : -1);
    e.setAttribute('class', m ? ['node', m.kind, m.id < part * PART && 'earlier', m === n ? 'chosen' : near && 'near', !fits(m) && 'other'].filter(c => c).join(' ')
      : +to === node ? 'into' : +from === node ? 'out' : '');
  }
  const list = nodes.filter(fits), ops = nodes.filter(n => n.kind === 'op').length;
  $('#totals').textContent = [`${ops} of ${data.entries} entries`, ...['bytes', 'forward', 'backward'].filter(k => keys.includes(k)).map(k =>
    `${columns[k].toLowerCase()} ${show(k, total(k))}`), `${Math.min(list.length, PART)} of ${list.length} nodes listed`].join(', ');
  details(n);
  table(list);
}
function choose(k) {
  node = k;
  if (k >= 0 && !at[k]) {
    part = Math.floor(k / PART);
    draw();
  }
  mark();
  if (k >= 0) $('#n' + k).scrollIntoView({block: 'nearest', inline: 'nearest'});
}
function read() {
  const given = new URLSearchParams(location.hash.slice(1)), k = parseInt(given.get('node'));
  $('#filter').value = given.get('filter') || '';
  sort = keys.find(k => k === given.get('sort'));
  down = given.has('down');
  draw();
  choose(nodes[k] && k);
}
const turn = by => () => { part += by; draw(); choose(); };
$('#filter').oninput = mark;
$('#back').onclick = turn(-1);
$('#next').onclick = turn(1);
$('#graph').onkeydown = e => {
  const k = +e.target.id.slice(1), place = at[k];
  if (!place) return;
  const to = {ArrowUp: nodes[k].inputs.find(i => i >= 0), ArrowDown: nodes[k].users[0], ArrowLeft: place.left, ArrowRight: place.right, Enter: k, ' ': k}[e.key];
  if (to >= 0 || e.key === 'Escape') choose(to);
  if (!(to >= 0)) return;
  $('#n' + to).focus();
  e.preventDefault();
};
onhashchange = read;
read();
</script>
</html>
)html";

}  // namespace reel::autodiff
