import ini no-such.file
