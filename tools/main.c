/* The program: everything is in command_main. */
#include "tools/command.h"

int main(int argc, char **argv)
{
    return command_main(argc, argv);
}
