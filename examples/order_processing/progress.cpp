// SPDX-License-Identifier: MIT
#include "progress.hpp"

#include <iomanip>

namespace shop {
namespace {

constexpr const char* erase_line = "\r\033[K";

}  // namespace

Progress::Progress(std::ostream& out, bool terminal, std::size_t submissions)
    : out_(out), terminal_(terminal), submissions_(submissions) {}

void Progress::show(const Board& board) {
  using namespace std::chrono_literals;
  const Time now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + (terminal_ ? 40ms : 500ms);
  std::uint64_t charged = 0;
  std::uint64_t duplicates = 0;
  for (const Figures& figures : board->figures) {
    charged += figures.charged;
    duplicates += figures.duplicates;
  }
  const std::size_t finished = board.finished();
  if (terminal_) {
    constexpr std::size_t width = 30;
    const std::size_t filled = width * finished / submissions_;
    out_ << erase_line << "   [" << std::string(filled, '#') << std::string(width - filled, '.')
         << "]";
  } else {
    out_ << "   ";
  }
  out_ << " " << std::setw(5) << finished << " of " << submissions_ << " submissions: " << charged
       << " charged, " << duplicates << " duplicates refused";
  out_ << (terminal_ ? "" : "\n") << std::flush;
}

void Progress::say(const std::string& line) {
  out_ << (terminal_ ? erase_line : "") << "   " << line << "\n" << std::flush;
}

void Progress::end() {
  if (terminal_) out_ << erase_line << std::flush;
}

}  // namespace shop
