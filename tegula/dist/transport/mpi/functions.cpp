// libtegula_mpi.so: the few functions of MPI behind a table.

#include "tegula/dist/transport/mpi/functions.h"

#include <mpi.h>

namespace {

MPI_Comm channels[3];

const char* start(int* rank, int* size) {
  int started = 0, level = 0;
  MPI_Initialized(&started);
  // One thread at a time; which one may change.
  if (!started && MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level) != MPI_SUCCESS) return "MPI_Init_thread failed";
  for (MPI_Comm& channel : channels) {
    if (MPI_Comm_dup(MPI_COMM_WORLD, &channel) != MPI_SUCCESS) return "MPI_Comm_dup failed";
  }
  MPI_Comm_rank(channels[0], rank);
  MPI_Comm_size(channels[0], size);
  return nullptr;
}

void* send(int to, const void* bytes, std::size_t count, int channel) {
  auto* const request = new MPI_Request;
  MPI_Isend(bytes, static_cast<int>(count), MPI_BYTE, to, 0, channels[channel], request);
  return request;
}

void* receive(int from, void* bytes, std::size_t count, int channel) {
  auto* const request = new MPI_Request;
  MPI_Irecv(bytes, static_cast<int>(count), MPI_BYTE, from, 0, channels[channel], request);
  return request;
}

bool is_done(void* request) {
  int done = 0;
  MPI_Test(static_cast<MPI_Request*>(request), &done, MPI_STATUS_IGNORE);
  if (done) delete static_cast<MPI_Request*>(request);
  return done != 0;
}

bool waits(int channel, int* from, std::size_t* count) {
  int there = 0, bytes = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, 0, channels[channel], &there, &status);
  if (!there) return false;
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  *from = status.MPI_SOURCE;
  *count = static_cast<std::size_t>(bytes);
  return true;
}

void finish() { MPI_Finalize(); }

}  // namespace

extern "C" __attribute__((visibility("default"))) const tegula::dist::MpiFunctions* tegula_mpi_functions() {
  static const tegula::dist::MpiFunctions functions{tegula::dist::kMpiInterface, start, send, receive, is_done, waits, finish};
  return &functions;
}
