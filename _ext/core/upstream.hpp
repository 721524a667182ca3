// What a pool needs of the place it gets memory from. A class is an upstream when it has
//
//   static constexpr bool host_accessible;           the CPU may touch what it gives
//   Status allocate(std::size_t bytes, void **out);  aligned to PoolLayout::alignment
//   void free(void *address);                        of an address it gave, once
//   std::size_t available();                         bytes it could still give, about; 0: unknown
//   std::size_t total();                             bytes it has in all; 0: unknown
//
// and all of them are noexcept. A pool calls them one at a time, never under the lock that its allocate and free need.
// Want of memory is StatusCode::out_of_memory; any other code ends the request at once and reaches the caller as it is.
#pragma once
#include <cstddef>
#include <type_traits>
#include <utility>

#include "status.hpp"

namespace ascend_infer {

template <typename U, typename = void>
struct is_upstream : std::false_type {};

template <typename U>
struct is_upstream<U, std::void_t<decltype(U::host_accessible), decltype(std::declval<U &>().allocate(0, nullptr)),
                                  decltype(std::declval<U &>().free(nullptr)),
                                  decltype(std::declval<U &>().available()), decltype(std::declval<U &>().total())>>
    : std::bool_constant<std::is_same_v<decltype(std::declval<U &>().allocate(0, nullptr)), Status> &&
                         noexcept(std::declval<U &>().allocate(0, nullptr)) &&
                         noexcept(std::declval<U &>().free(nullptr)) && noexcept(std::declval<U &>().available()) &&
                         noexcept(std::declval<U &>().total())> {};

}  // namespace ascend_infer
