"""Page Lessons: `content` reads the lessons, `page` and `teacher` draw them, `progress` saves what
a visitor has done, and `bar` leads back to a lesson.
"""
