"""Writes signal_values.hpp: results of SciPy and NumPy for the calls of signal.cpp, by their names.

Usage: make_signal_values.py > signal_values.hpp, with NumPy and SciPy 1.10. The tests read the stored file alone.
"""
import numpy
import scipy.fft
import scipy.signal

x = numpy.array([1, -2, 0.5, 3])
z = numpy.array([1 + 1j, 2, -1 - 2j])
values = {}
for name in ("hann", "hamming", "blackman", "bartlett"):
    values[name] = scipy.signal.get_window(name, 6, fftbins=False)
    values[name + " periodic"] = scipy.signal.get_window(name, 5, fftbins=True)
values["kaiser"] = scipy.signal.windows.kaiser(5, 8.6)
values["kaiser periodic"] = scipy.signal.windows.kaiser(4, 2.5, sym=False)
for kind in (1, 2, 3, 4):
    for ortho in ("", " ortho"):
        for name in ("dct", "idct", "dst", "idst"):
            # SciPy's orthonormal sine transforms of types 2 and 3 scale the first number instead of the last, so that they
            # are not orthogonal.
            if not (ortho and kind in (2, 3) and name in ("dst", "idst")):
                values[f"{name} {kind}{ortho}"] = getattr(scipy.fft, name)(x, kind, norm="ortho" if ortho else None)
for mode in ("full", "same", "valid"):
    values[f"convolve {mode}"] = scipy.signal.convolve(x, [0, 1, 0.5], mode)
    values[f"convolve shorter {mode}"] = scipy.signal.convolve([1, 2], x, mode)
    values[f"correlate {mode}"] = scipy.signal.correlate(x, [0, 1, 0.5], mode)
    values[f"correlate shorter {mode}"] = scipy.signal.correlate([1, 2], x, mode)
values["correlate complex"] = scipy.signal.correlate(z, [1j, 2 - 1j]).view(float)
values["lfilter"] = scipy.signal.lfilter([1, 0.5, -0.25], [2, 0.3, 0.1], x)
sos = numpy.array([[1, 0.5, -0.25, 1, 0.3, 0.1], [0.5, 0, 1, 1, -0.2, 0]])
values["sosfilt"] = scipy.signal.sosfilt(sos, x)
u = numpy.array([1, -2, 0.5, 3, 0.25, -1, 2, 1.5, -0.75, 0.5, 1])
v = numpy.array([0.5, 1, -1, 2, 0, 0.25, -3])
w = numpy.array([0.5, 1, 2, 1.5, 0.75])
for scaling in ("density", "spectrum"):
    for detrend in (False, "constant", "linear"):
        options = dict(fs=2.5, window=w, detrend=detrend, scaling=scaling)
        values[f"welch {scaling} {detrend}"] = scipy.signal.welch(u, **options)[1]
        values[f"csd {scaling} {detrend}"] = scipy.signal.csd(u, v, **options)[1].view(float)
values["welch even"] = scipy.signal.welch(u, window=w[:4], noverlap=3)[1]
values["welch padded"] = scipy.signal.welch(u, window=w, noverlap=1, nfft=8)[1]
values["csd padded"] = scipy.signal.csd(v, u, window=w, noverlap=0, nfft=7)[1].view(float)
values["unwrap"] = numpy.unwrap([0, 3, -3, 7, 0.5])
values["unwrap at half a period"] = numpy.unwrap([0, 1, 2, 1, 0, 3, 0], period=2)
values["detrend"] = scipy.signal.detrend(x)
values["detrend constant"] = scipy.signal.detrend(x, type="constant")
values["fft"] = numpy.fft.fft(z, 5, norm="ortho").view(float)
values["hfft"] = numpy.fft.hfft(z)
values["ihfft"] = numpy.fft.ihfft(x).view(float)
values["irfft2"] = numpy.fft.irfft2(numpy.outer(z, z), (2, 5)).ravel()
values["fftfreq"] = numpy.fft.fftfreq(7, 0.3)

print("""// Made by make_signal_values.py: results of SciPy and NumPy. Not to be edited.
#pragma once
#include <map>
#include <string>
#include <vector>

// clang-format off
inline const std::map<std::string, std::vector<double>> signal_values = {""")
for name, list in values.items():
    print(f'    {{"{name}", {{{", ".join(repr(float(v)) for v in list)}}}}},')
print("};\n// clang-format on")
