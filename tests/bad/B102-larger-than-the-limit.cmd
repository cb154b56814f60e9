show cluster @ --max-input 100B
