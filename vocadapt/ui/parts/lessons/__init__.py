"""Page Lessons: `content` reads the lessons, `page` draws them by `view` and `teacher`, `progress`
saves what a visitor has done, and `bar` leads back to a lesson.
"""
