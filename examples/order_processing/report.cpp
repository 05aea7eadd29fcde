// SPDX-License-Identifier: MIT
#include "report.hpp"

#include "supervisor.hpp"

#include <algorithm>
#include <iomanip>
#include <sstream>
#include <string>

namespace shop {
namespace {

constexpr const char* erase_line = "\r\033[K";

// The counts of one process, or of all.
struct Row {
  std::uint64_t charged = 0;
  std::uint64_t replayed = 0;
  std::uint64_t found = 0;
  std::uint64_t repaired = 0;
  std::uint64_t waits = 0;
  std::uint64_t started_over = 0;
  std::int64_t longest_wait = 0;

  void add(const Figures& figures) {
    charged += figures.charged;
    replayed += figures.replayed;
    found += figures.found;
    repaired += figures.repaired;
    waits += figures.waits;
    started_over += figures.started_over;
    longest_wait = std::max<std::int64_t>(longest_wait, figures.longest_wait);
  }
};

Row sum(const Board& board) {
  Row all;
  for (const Figures& figures : board->figures) all.add(figures);
  return all;
}

std::string milliseconds(std::int64_t nanoseconds) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(1) << static_cast<double>(nanoseconds) / 1e6 << " ms";
  return out.str();
}

void print_row(std::ostream& out, const std::string& name, const Row& row, bool locks) {
  out << "   " << std::setw(7) << name << std::setw(10) << row.charged << std::setw(11)
      << row.replayed << std::setw(8) << row.found << std::setw(11) << row.repaired << std::setw(14)
      << (locks ? std::to_string(row.waits) : "-") << std::setw(15)
      << (locks ? milliseconds(row.longest_wait) : "-") << "\n";
}

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
    duplicates += figures.replayed + figures.found;
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

void Progress::print(const std::string& line) {
  out_ << (terminal_ ? erase_line : "") << "   " << line << "\n" << std::flush;
}

void Progress::end() {
  if (terminal_) out_ << erase_line << std::flush;
}

void print_table(std::ostream& out, const Board& board, std::size_t processes, bool locks,
                 std::size_t submissions, const Story& story) {
  out << "\n   process   charged   replayed   found   repaired  waits > 1 ms   longest wait\n";
  const Row all = sum(board);
  for (std::size_t i = 0; i < processes; ++i) {
    Row row;
    row.add(board->figures[i]);
    print_row(out, std::to_string(i + 1), row, locks);
  }
  print_row(out, "all", all, locks);
  const double seconds = static_cast<double>(story.took.count()) / 1e9;
  out << "   " << submissions << " submissions in " << std::fixed << std::setprecision(2) << seconds
      << " s: " << std::setprecision(0) << static_cast<double>(submissions) / seconds
      << " per second\n";
  if (all.started_over != 0) {
    out << "   " << all.started_over
        << " times a lock or a reply was lost, and the work was repeated\n";
  }
}

void print_recovery(std::ostream& out, const Board& board, const Story& story) {
  const Crash& crash = board->crash;
  if (story.killed_at == 0 || crash.completed_by == 0) return;
  out << "   Process " << crash.completed_by
      << " completed the charge that the killed process had begun, "
      << milliseconds(crash.completed_at - story.killed_at) << " after the kill.\n";
}

void print_roles(std::ostream& out, const Board& board, bool remembers) {
  const Row all = sum(board);
  if (remembers) {
    out << "   " << all.replayed
        << " submissions got the recorded receipt of their order, and took "
        << "no lock.\n   Runs that followed a killed run, and found its charge: " << all.found
        << ".\n";
  } else {
    out << "   This store does not have Once: " << all.found
        << " submissions took the lock of their "
        << "order,\n   and found its charge in the ledger.\n";
  }
  out << "   The customers' locks kept the charges of an account apart.\n   Charges that a killed "
      << "process began, and the next holder completed: " << all.repaired << ".\n";
}

}  // namespace shop
