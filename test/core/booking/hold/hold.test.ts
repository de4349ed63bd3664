import { expect, it } from '@jest/globals';
import { endOf, holdExtensions, isHold } from '../../../../core/booking/appointment/expiry.ts';
import { appointment, config, now } from '../support.ts';

it('an appointment is a hold by its extension, whatever else stands beside it', () => {
  const extension = [null, { url: 'urn:x' }, ...holdExtensions(now, false, config)];
  expect(endOf('hold', Object.assign(appointment(), { extension }), config)).toBe(now);
});

it.each([['no list'], [[null]], [[{ url: 'urn:x' }]]])('an appointment with the extension %j is none', (extension) => {
  expect(isHold(Object.assign(appointment(), { extension }), config)).toBe(false);
});
