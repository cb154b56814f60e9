plot validation @ -o picture
