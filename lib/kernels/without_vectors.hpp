// What templates of vectors name of xsimd, declared for machines on which xsimd has no vectors. The scalar set calls
// none of it.
#pragma once

namespace xsimd {

template <class Mask>
bool any(const Mask& mask);
template <class Mask>
bool all(const Mask& mask);
template <class Mask, class Batch>
Batch select(const Mask& mask, const Batch& a, const Batch& b);
template <class Batch>
Batch haddp(const Batch* rows);

}  // namespace xsimd
