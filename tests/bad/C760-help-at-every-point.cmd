sweep @
