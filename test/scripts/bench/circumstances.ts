import type { Circumstances } from '../../../scripts/bench/machine.ts';

/** Where the figures of the tests come from. */
export const circumstances: Circumstances = {
  date: '2031-01-06',
  processor: 'Some processor',
  cores: 2,
  memoryGb: 24,
  node: '24.0.0',
  medplum: '5.1.23',
  service: '1.0.0',
  bots: 'gateway',
};
