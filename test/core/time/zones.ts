/** A dozen time zones: both hemispheres, changes of one hour and of half an hour, at midnight, and none at all. */
export const zones = [
  'Europe/Berlin',
  'Europe/London',
  'Europe/Lisbon',
  'America/New_York',
  'America/Havana',
  'America/Santiago',
  'America/St_Johns',
  'Africa/Cairo',
  'Africa/Casablanca',
  'Asia/Beirut',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'Pacific/Chatham',
] as const;

export const firstDay = Date.UTC(2027, 0, 1);

/** Three years. */
export const days = 1096;
