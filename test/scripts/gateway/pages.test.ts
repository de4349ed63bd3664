import { expect, test } from '@jest/globals';
import { frontDeskFrom, portalFrom } from '../../../scripts/gateway/pages.ts';

const medplum = 'http://medplum:8103/';

test('without a client there is no front desk', () => {
  expect(frontDeskFrom({ DESK_MEDPLUM_URL: 'nonsense' }, medplum)).toBeUndefined();
});

test.each([
  [undefined, medplum],
  ['https://medplum.example', 'https://medplum.example/'],
])('browsers reach Medplum at %p: %s', (given, medplumUrl) => {
  const environment = { DESK_CLIENT_ID: 'x', DESK_MEDPLUM_URL: given };
  expect(frontDeskFrom(environment, medplum)).toEqual({ clientId: 'x', medplumUrl });
});

test('an address that is none is refused by its name', () => {
  const environment = { DESK_CLIENT_ID: 'x', DESK_MEDPLUM_URL: 'medplum.example' };
  expect(() => frontDeskFrom(environment, medplum)).toThrow(/^DESK_MEDPLUM_URL must be/);
});

const portal = { PORTAL_CLIENT_ID: 'x', PORTAL_CLIENT_SECRET: 's', PORTAL_CLINIC: 'Clinic by the lake' };

test('without a client there is no portal, whatever else is set', () => {
  expect(portalFrom({ PORTAL_CLINIC: 'x', PORTAL_NOTIFICATIONS_URL: 'nonsense' })).toBeUndefined();
});

test('notifications go to the address that is set', () => {
  const notificationsUrl = 'http://gateway:8080/portal/notifications';
  expect(portalFrom({ ...portal, PORTAL_NOTIFICATIONS_URL: notificationsUrl })).toMatchObject({ notificationsUrl });
  expect(portalFrom({ ...portal, PORTAL_NOTIFICATIONS_URL: '' })?.notificationsUrl).toBeUndefined();
});

test('the limit of one address is the one that is set', () => {
  expect(portalFrom({ ...portal, PORTAL_BOOKINGS_PER_HOUR: '40' })?.bookingsPerHour).toBe(40);
  expect(portalFrom(portal)?.bookingsPerHour).toBeUndefined();
});

test('sites that may show the portal are origins', () => {
  const PORTAL_EMBEDDED_IN = ' https://clinic.example http://localhost:3000';
  expect(portalFrom({ ...portal, PORTAL_EMBEDDED_IN })?.embeddedIn).toEqual(PORTAL_EMBEDDED_IN.trim().split(' '));
  expect(portalFrom(portal)?.embeddedIn).toEqual([]);
});

test.each([
  ['PORTAL_CLINIC', { PORTAL_CLINIC: '' }],
  ['PORTAL_CLIENT_SECRET', { PORTAL_CLIENT_SECRET: '' }],
  ['PORTAL_LINK_SECRET', { PORTAL_LINK_SECRET: 'short' }],
  ['PORTAL_NOTIFICATIONS_URL', { PORTAL_NOTIFICATIONS_URL: 'gateway:8080' }],
  ['PORTAL_EMBEDDED_IN', { PORTAL_EMBEDDED_IN: 'https://clinic.example/' }],
  ['PORTAL_EMBEDDED_IN', { PORTAL_EMBEDDED_IN: 'https://clinic.example *' }],
  ['PORTAL_EMBEDDED_IN', { PORTAL_EMBEDDED_IN: 'http://clinic.example' }],
  ['PORTAL_BOOKINGS_PER_HOUR', { PORTAL_BOOKINGS_PER_HOUR: '-1' }],
])('a portal with a wrong %s is refused by its name', (name, wrong) => {
  expect(() => portalFrom({ ...portal, ...wrong })).toThrow(new RegExp(name));
});
