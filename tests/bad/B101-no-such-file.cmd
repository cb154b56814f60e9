show cluster no-such-file.json
