// The HTML page of a tape without its data: page.html. Its script places the nodes in rows and draws them as SVG. An
// address may choose: #node=3&filter=exp&sort=bytes&down. Text of the program reaches the page as text nodes and
// attributes only, so that nothing in it is read as HTML.
//
// Placement: a row has at most 8 nodes; an op is below what it reads, a source above its first reader. A node goes to
// the mean of its neighbours in the row before (in turns: below), a source to the right of it. Nodes of a row that
// would overlap move as a group.
#pragma once
#include <string_view>

namespace reel::autodiff {

extern const std::string_view page_text;
/// What the data replace: they are in a script element of type application/json; the script behind it draws them.
inline constexpr std::string_view page_data = "<!-- data -->";

}  // namespace reel::autodiff
