import { expect, it } from '@jest/globals';
import type { Subscription } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { isObject } from '../../../core/fhir/resource.ts';
import { aClient, removeClient } from '../clients.ts';
import { aPatient } from '../fixtures.ts';
import { request } from '../http.ts';
import { base, config } from '../installation.ts';
import { runBot } from '../requests/fixtures.ts';
import { aBooking, confirm, current, subscribed, subscription } from './fixtures.ts';
import { events, focusIn, listen, numbersAt } from './listener.ts';
import './stand-ins.ts';
import { eventually, until } from '../../lib/until.ts';

/** Id of the requestor that portal A is, from the tag of something of its own. */
async function requestorOf({ meta }: Subscription): Promise<string> {
  return meta?.tag?.find(({ system }) => system === artefactUri(config, 'LocalRequestor'))?.code ?? '';
}

it('a consumer is notified of the appointments of its requestor, and of no others', async () => {
  const [listener, own] = [await listen(), await listen()];
  const [patient, foreign] = [await aPatient(), await aPatient('portal-b')];
  const requestor = await requestorOf(await subscribed(own));
  const parameter = { name: 'requestor', valueReference: { reference: `ClientApplication/${requestor}` } };
  const consumer = await aClient('Appointment booking: consumer', parameter);
  const headers = { authorization: `Bearer ${consumer.token}`, 'content-type': 'application/fhir+json' };
  const body = JSON.stringify(
    subscription(listener, { filter: `Appointment?patient=Patient/${patient.id},Patient/${foreign.id}` }),
  );
  const response = await fetch(`${base}/Subscription`, { method: 'POST', headers, body });
  const created: unknown = await response.json();
  expect([response.status, isObject(created) && created.status]).toEqual([201, 'requested']);
  const id = isObject(created) ? String(created.id) : '';
  await eventually(() => current(id, 'admin')).is(({ status }) => status === 'active');
  await confirm(await aBooking('manual', 'portal-b', foreign));
  const appointment = await confirm(await aBooking('manual', 'portal-a', patient));
  const [first] = await events(listener, 1);
  expect(numbersAt(listener)).toEqual([1]);
  expect(first && focusIn(first.bundle)[0]).toBe(`${base}/Appointment/${appointment.id}`);
  expect((await request('portal-a', 'GET', `/Subscription/${id}`)).status).toBe(404);
  expect((await fetch(`${base}/Subscription/${id}`, { method: 'DELETE', headers })).status).toBe(204);
  await Promise.all([listener.close(), own.close(), removeClient(consumer)]);
});

it('whoever has left the clinic is told nothing more: its Subscriptions are switched off', async () => {
  const listener = await listen();
  const colleague = await aClient('Appointment booking: front-desk');
  const headers = { authorization: `Bearer ${colleague.token}`, 'content-type': 'application/fhir+json' };
  const body = JSON.stringify(subscription(listener));
  const created: unknown = await (await fetch(`${base}/Subscription`, { method: 'POST', headers, body })).json();
  const status = async () => (await current(isObject(created) ? String(created.id) : '', 'admin')).status;
  await until(status, (one) => one === 'active');
  await runBot('retry-deliveries');
  expect(await status()).toBe('active');
  await removeClient(colleague);
  await eventually(async () => {
    await runBot('retry-deliveries');
    return status();
  }).is((one) => one === 'off');
  await listener.close();
});
