#include "runtime/client.hpp"

#include "base/check.hpp"

namespace strata::runtime {

bool Client::reaches(const Client&) const { return false; }
Future<Lent> Client::lend(BufferRef) {
  base::fail_check("this client lends nothing", __FILE_NAME__, __LINE__);
}
void Client::copy(BufferRef, Lent) {
  base::fail_check("this client reaches no other", __FILE_NAME__, __LINE__);
}

bool Client::believed(Buffer& buffer) {
  if (buffer.doubts_) {
    if (const auto error = drop_closed(buffer.doubts_)) refuse(buffer, error);
  }
  return !buffer.error_;
}

void Client::refuse(Buffer& buffer, const std::exception_ptr& error) {
  if (!buffer.error_) buffer.error_ = error;
  buffer.doubts_.reset();
}

void Client::close_checks(Buffer& buffer, const Download& download) {
  if (!buffer.doubts_) return;
  for (const auto& check : *buffer.doubts_) check->close(download);
  believed(buffer);
}

std::size_t Client::pass_doubts(const Launch& launch) {
  Doubts doubts;
  for (const auto& buffer : launch.buffers) add_doubts(doubts, buffer->doubts_);
  if (launch.check) add_doubts(doubts, std::make_shared<const std::vector<CheckRef>>(1, launch.check));
  if (!doubts) return 0;
  const auto& memories = launch.program->ir().memories;
  for (std::size_t i = 0; i < launch.buffers.size(); ++i) {
    if (memories[i].written) launch.buffers[i]->doubts_ = doubts;
  }
  return doubts->size();
}

}  // namespace strata::runtime
