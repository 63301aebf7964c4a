// expect: ^mnist: got nowhere: no file train-images-idx3-ubyte or the same with \.gz, expected the four MNIST files in this folder
// expect: hint: put them there, or leave the folder out and use the drawn digits
#include <tegula/tegula.h>

void mnist_missing() {
  using namespace tegula;
  data::mnist("nowhere");
}
