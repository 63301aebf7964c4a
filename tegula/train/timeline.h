#pragma once
// A recording of the work of one process or all ranks, for a file and a picture.

#include <string>

#include "tegula/core/line.h"
#include "tegula/dist/show/timeline.h"
#include "tegula/io/plot_bars.h"

namespace tegula {

/// Records this thread's steps and exchanges while it lives. A device that queues its work (a GPU) times them itself, and each run of a plan is
/// waited for.
///   TimelineRecorder recorder("run.json");       // on every rank
///   trainer.fit(train, test);
///   std::cout << recorder.finish();              // rank 0 writes the file; one process gets its steps, the longest first (docs/profiling.md)
class TimelineRecorder {
 public:
  /// `path`: .json for chrome://tracing and ui.perfetto.dev, .png or .svg for a picture of one step. Throws Error for another ending, on a
  /// device that queues its work and tells no times, and on rank 0 where the file cannot be written.
  explicit TimelineRecorder(std::string path, dist::Group group = dist::world(), Line where = Line::current());
  /// Ends the recording; all ranks call it. Rank 0 writes the file and gets a table: of the exchanges, or, where it is the only one, of the steps with their times and
  /// lines. The others get an empty text.
  std::string finish();

 private:
  std::string path_;
  dist::Group group_;
  runtime::Timeline timeline_;
  runtime::TimelineScope scope_;
};

/// One step of a recording: the run of a plan with the most exchanges, in the middle of the runs that took neither long nor short. A row for each rank's
/// computations, one for its exchanges. Throws Error for a recording without runs.
io::Bars timeline_picture(const dist::Timelines& ranks);

}  // namespace tegula
