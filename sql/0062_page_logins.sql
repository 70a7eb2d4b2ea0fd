-- Logins at the pages end when they are not used, and where no login is set up one begins with the link that `serve` prints.
ALTER TABLE page_session DROP CONSTRAINT page_session_way_check;
ALTER TABLE page_session ADD CHECK (way IN ('password', 'oidc', 'link'));
COMMENT ON COLUMN page_session.way IS
  'password: by a password of the settings; oidc: by the OpenID Connect provider; link: by the link that serve printed.';
COMMENT ON COLUMN page_session.ends_at IS 'When it ends unless it is used before. Use moves it, up to the longest time of a login.';
