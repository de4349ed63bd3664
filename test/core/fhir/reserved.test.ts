import { describe, expect, it } from '@jest/globals';
import { artefactUri } from '../../../core/config/config.ts';
import { REPLACES, reservedEntries, withoutReserved } from '../../../core/fhir/reserved.ts';
import { config } from '../booking/support.ts';

const uri = (name: Parameters<typeof artefactUri>[1]): string => artefactUri(config, name);
const own = [
  { meta: { tag: [{ system: uri('LocalRequestor'), code: 'x' }] } },
  { meta: { tag: [{ system: uri('LocalRequestor').toUpperCase(), code: 'x' }] } },
  { meta: { tag: [{ system: uri('LocalChangedBy'), code: 'x' }] } },
  { meta: { tag: [{ system: config.metaTagSystem.toUpperCase(), code: 'External' }] } },
  { identifier: [{ system: uri('LocalSlotOrigin').toLowerCase(), value: '1' }] },
  { extension: [{ url: uri('LocalConfirmation'), valueCode: 'automatic' }] },
  { extension: [{ url: REPLACES }] },
  { cancelationReason: { coding: [{ system: uri('LocalBookingError').toUpperCase(), code: 'hold-expired' }] } },
  { reasonCode: [{ coding: [{ system: uri('LocalTask'), code: 'book' }] }] },
];
const foreign = [
  { meta: { tag: [{ system: 'urn:colour', code: 'blue' }, { code: 'external' }] } },
  { meta: { tag: [{ system: config.metaTagSystem, code: 'other' }] } },
  { identifier: [{ system: 'urn:x', value: uri('LocalSlotOrigin') }], extension: [] },
  { extension: [{ url: uri('LocalTerminPriorityExtension') }, null, 7] },
  { serviceType: [{ coding: [{ system: uri('LocalServiceType'), code: 'ct' }] }], reasonCode: [{}] },
];

describe('what the service alone sets', () => {
  it.each(own)('is dropped, at any depth: %j', (resource) => {
    expect(withoutReserved({ contained: [{ ...resource, id: 'a' }], ...resource, status: 'x' }, config)).toEqual({
      contained: [{ ...(resource.meta && { meta: {} }), id: 'a' }],
      ...(resource.meta && { meta: {} }),
      status: 'x',
    });
    expect(reservedEntries({ contained: [resource], ...resource }, 'A', config)).toHaveLength(2);
  });

  it.each(foreign)('is nothing of what clients set: %j', (resource) => {
    expect(withoutReserved(resource, config)).toEqual(resource);
    expect(reservedEntries(resource, 'A', config)).toEqual([]);
  });

  it('leaves what stands beside it', () => {
    const coding = [{ system: uri('LocalBookingError'), code: 'hold-expired' }, { code: 'other' }];
    const sent = {
      cancelationReason: { coding, text: 'x' },
      reasonCode: [{ coding: [coding[0]] }, { text: 'y' }],
      a: {},
    };
    expect(withoutReserved(sent, config)).toEqual({
      cancelationReason: { coding: [{ code: 'other' }], text: 'x' },
      reasonCode: [{ text: 'y' }],
      a: {},
    });
  });

  it('is named by its path', () => {
    const resource = { contained: [{ extension: [{ url: REPLACES }] }] };
    expect(reservedEntries(resource, 'Appointment', config).map(({ path }) => path)).toEqual([
      'Appointment.contained.extension',
    ]);
  });
});
