#pragma once
// The threads of the CPU device. They work well beside other processes, because nothing waits for a thread that does not run.
//
// Work is cut into parts before any thread runs; the thread that runs a part never changes a result. The calling thread starts with part 0, a
// worker with its own, and each takes remaining parts when it is done. If the system gives us only one processor, the caller has done everything
// before it would wait for a worker. Workers and callers without work poll for a moment and then sleep.
//
// One caller at a time uses the workers; other callers, and parallel work inside a part, run their parts one after another. Workers are started when
// first needed; fewer, if the system refuses more. A process made by fork starts its own.

namespace tegula::host {

using Task = void (*)(const void* context, int part);

/// The most parts that are shared out; more run on the calling thread.
inline constexpr int kMostParts = 1024;

/// Calls function(context, part) once for each part of [0, parts), on up to num_threads() threads, and returns when all have ended. Rethrows
/// an exception of one of them.
void run_parts(int parts, Task function, const void* context);

/// Threads that wait to work, for tests.
int pool_workers();

}  // namespace tegula::host
