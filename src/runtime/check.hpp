/// What a kernel finds wrong with its data, for launches that nobody waits for.
///
/// A launch with a check writes to a word that the host sees too. Until the host has waited for the device,
/// what the launch wrote, and all that later launches compute from it, is in *doubt*: buffers carry the
/// checks that are open. Whoever reads waits anyway; then the word is looked at, and a check that failed
/// becomes the buffer's error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "strata/detail/value.hpp"

namespace strata::runtime {

class Buffer;

/// The bytes of a buffer, for what an error says about them.
using Download = std::function<std::shared_ptr<const std::byte>(const backend::Ref<Buffer>&)>;

/// One launch's. Once launched it belongs to the device's thread.
class Check {
 public:
  /// What the word holds before the launch. The kernel lowers it, by atomic_min.
  static constexpr std::int64_t nothing = std::numeric_limits<std::int64_t>::max();
  /// The error for the least number that the kernel reported.
  using MakeError = std::function<std::exception_ptr(std::int64_t found, const Download& download)>;

  explicit Check(MakeError make_error) : make_error_(std::move(make_error)) {}

  /// Before the launch: `word` is what the kernel writes to. Launches are numbered as they start.
  void open(std::shared_ptr<std::int64_t> word, std::uint64_t number);
  /// The launch is known to be over.
  void close(const Download& download);

  bool is_open() const { return word_ != nullptr; }
  std::int64_t* word() const { return word_.get(); }
  std::uint64_t number() const { return number_; }
  /// Why it failed; null while it is open, and when it passed.
  const std::exception_ptr& error() const { return error_; }

 private:
  MakeError make_error_;
  std::shared_ptr<std::int64_t> word_;
  std::uint64_t number_ = 0;
  std::exception_ptr error_;
};
using CheckRef = std::shared_ptr<Check>;

/// The checks of a buffer that were open when last looked at, by number; null where there is no doubt. Shared
/// by all buffers that a launch wrote.
using Doubts = std::shared_ptr<const std::vector<CheckRef>>;
void add_doubts(Doubts& to, const Doubts& more);
/// Drops checks that are closed; gives the error of the first that failed.
std::exception_ptr drop_closed(Doubts& doubts);

/// Words for checks, reused once the device has finished what wrote to them. The device's thread only.
class CheckWords : public std::enable_shared_from_this<CheckWords> {
 public:
  static constexpr std::size_t block = 512;  ///< words
  /// `source` gives memory for that many words which the device can write to and the host can read.
  using Source = std::function<std::shared_ptr<std::int64_t>(std::size_t words)>;

  explicit CheckWords(Source source) : source_(std::move(source)) {}
  std::shared_ptr<std::int64_t> take();
  /// So many words wait for the device that the caller better did, too.
  bool run_short() const { return free_.empty() && returned_.size() >= 16 * block; }
  /// The device has finished everything.
  void waited();

 private:
  const Source source_;
  std::vector<std::shared_ptr<std::int64_t>> blocks_;
  std::vector<std::int64_t*> free_, returned_;
};

}  // namespace strata::runtime
