// Runs every registered case, or those named on the command line.
#include "pool_check.hpp"

int main(int count, char **names) {
  int ran = 0;
  for (const Case &test : cases()) {
    bool wanted = count < 2;
    for (int i = 1; i < count; ++i) wanted = wanted || std::strcmp(names[i], test.name) == 0;
    if (!wanted) continue;
    test.run();
    std::printf("%s\n", test.name);
    std::fflush(stdout);
    ++ran;
  }
  return ran == 0;
}
