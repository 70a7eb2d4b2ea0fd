-- Days proven to hold no entry get figures as well. Accounts that have such days between others are looked through once: their
-- first day is made anew, which changes nothing of it.
INSERT INTO changed_day (merchant_no, currency, day)
SELECT merchant_no, currency, min(day)
FROM account_day
GROUP BY merchant_no, currency
HAVING count(*) < max(day) - min(day) + 1
ON CONFLICT DO NOTHING;
