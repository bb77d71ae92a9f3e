CREATE TABLE teachers (id INTEGER PRIMARY KEY, name TEXT, instrument TEXT, city TEXT, hourly_fee REAL);
INSERT INTO teachers VALUES
  (1, '林晓雯', 'piano', '上海', 320), (2, '周启明', 'violin', '上海', 280), (3, 'Ada Novak', 'cello', 'Vienna', 75),
  (4, 'Tom Reyes', 'guitar', 'Vienna', 60), (5, '何佳', 'guitar', '杭州', 240), (6, 'Ines Moreau', 'piano', 'Lyon', 82);
CREATE TABLE students (id INTEGER PRIMARY KEY, name TEXT, city TEXT, birth_year INTEGER);
INSERT INTO students VALUES
  (1, '王一诺', '上海', 2014), (2, '陈子墨', '上海', 2011), (3, '李可欣', '杭州', 2013), (4, 'Mia Huber', 'Vienna', 2010),
  (5, 'Paul Gruber', 'Vienna', 2012), (6, '赵宇航', '上海', 2009), (7, 'Léa Petit', 'Lyon', 2015), (8, '孙若溪', '杭州', 2012),
  (9, 'Anna Bauer', 'Vienna', 2014), (10, '吴昊', '上海', 2010), (11, 'Jules Roche', 'Lyon', 2011);
CREATE TABLE lessons (
  id INTEGER PRIMARY KEY, teacher_id INTEGER REFERENCES teachers (id), student_id INTEGER REFERENCES students (id),
  held_on TEXT, minutes INTEGER, status TEXT
);
INSERT INTO lessons VALUES
  (1, 1, 1, '2026-03-02', 60, 'held'), (2, 1, 2, '2026-03-02', 45, 'held'), (3, 2, 6, '2026-03-03', 60, 'cancelled'),
  (4, 3, 4, '2026-03-03', 60, 'held'), (5, 4, 5, '2026-03-04', 30, 'held'), (6, 5, 3, '2026-03-04', 45, 'held'),
  (7, 5, 8, '2026-03-05', 60, 'held'), (8, 6, 7, '2026-03-05', 45, 'held'), (9, 1, 10, '2026-03-06', 60, 'held'),
  (10, 4, 9, '2026-03-06', 60, 'cancelled'), (11, 6, 11, '2026-03-09', 60, 'held'), (12, 3, 4, '2026-03-10', 60, 'held'),
  (13, 1, 1, '2026-03-16', 60, 'held'), (14, 2, 6, '2026-03-17', 90, 'held'), (15, 5, 3, '2026-03-18', 45, 'cancelled'),
  (16, 4, 5, '2026-03-18', 30, 'held'), (17, 1, 2, '2026-03-20', 45, 'held'), (18, 6, 7, '2026-03-23', 45, 'held');
