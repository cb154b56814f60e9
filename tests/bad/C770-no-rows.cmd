plot sweep @
