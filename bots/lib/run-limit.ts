/**
 * After this many milliseconds a Bot that works through a list begins nothing more: Medplum gives it ten seconds, and
 * what is left waits for its next run.
 */
export const RUN_LIMIT = 6_000;
