#pragma once
// The threads of the CPU machine: at ease beside other processes, because nobody waits for a thread that does not come.
//
// Work is cut into parts before anybody runs; which thread runs a part never changes a result. The calling thread starts with part 0, a
// worker with its own; whoever is done takes what is left. So where the system gives us one processor only, the caller has done everything
// before a worker was missed. Workers and callers that have nothing to do watch for a moment and then sleep.
//
// One caller at a time is served; others, and parallel work inside of a part, run their parts one after another. Workers are started when
// first needed; fewer, where the system refuses more. A process made by fork starts its own.

namespace tegula::host {

using Task = void (*)(const void* context, int part);

/// The most parts that are shared out; more run on the calling thread.
inline constexpr int kMostParts = 1024;

/// Calls function(context, part) once for each part of [0, parts), on up to num_threads() threads, and returns when all have ended. Throws
/// what one of them has thrown.
void run_parts(int parts, Task function, const void* context);

/// Threads that wait to work, for tests.
int pool_workers();

}  // namespace tegula::host
