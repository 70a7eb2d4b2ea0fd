/** Which days and months can be asked for: the database and the calendar have their bounds. */

/** Of a text that begins with a year. */
export const YEARS = /^(?:19|20|21)\d\d-/;
