"""Page Lessons: `content` reads the lessons, `view` and `teacher` draw them, `bar` leads back."""
