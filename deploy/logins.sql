-- The database logins of compose.yaml: one for each file secrets/*_database_url, with the password in it and the roles of its
-- work. Run by psql, and safe to repeat: it takes over a changed password.
\getenv urls URLS
WITH login AS (
  SELECT part[1] AS name, part[2] AS password FROM regexp_matches(:'urls', 'postgres://([a-z_]+):([^@]+)@', 'g') AS part
), may (name, role) AS (VALUES
  ('daybook_migrate_login', 'daybook_migrate'),
  ('daybook_job_login', 'daybook_job'), ('daybook_job_login', 'daybook_inbox'),
  ('daybook_serve_login', 'daybook_inbox'),
  ('daybook_pages_login', 'daybook_pages'), ('daybook_pages_login', 'daybook_sessions'),
  ('daybook_pages_login', 'daybook_read_only'),
  ('daybook_prune_login', 'daybook_prune'),
  ('daybook_read_only_login', 'daybook_read_only')
), step (nth, statement) AS (
  SELECT DISTINCT 0, format('CREATE ROLE %I', role) FROM may WHERE to_regrole(role) IS NULL
  UNION ALL SELECT 1, format('CREATE ROLE %I', name) FROM login WHERE to_regrole(name) IS NULL
  UNION ALL SELECT 2, format('ALTER ROLE %I LOGIN PASSWORD %L', name, password) FROM login
  UNION ALL SELECT 3, format('GRANT %I TO %I', role, name) FROM login JOIN may USING (name)
  UNION ALL SELECT 4, 'ALTER ROLE daybook_migrate_login SET role daybook_migrate'
)
SELECT statement FROM step ORDER BY nth
\gexec
