/**
 * Books and cancels an appointment from a page of another origin, with nothing but `fetch`. The page has got its access
 * token from the portal's own server: a client's secret never belongs into a browser.
 *
 * @param {{ base: string, token: string, schedule: string }} settings
 * @returns {Promise<string[]>} the status of the appointment at each step
 */
export async function bookAndCancel({ base, token, schedule }) {
  const fhir = async (path, { method = 'GET', body, type = 'application/fhir+json' } = {}) => {
    const answer = await fetch(`${base}/${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': type }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    const resource = await answer.json();
    if (!answer.ok) {
      throw new Error(resource.issue?.[0]?.diagnostics ?? `Status ${answer.status}`);
    }
    return { resource, location: answer.headers.get('location'), etag: answer.headers.get('etag') };
  };

  const query = new URLSearchParams({ schedule: `Schedule/${schedule}`, status: 'free', _sort: 'start', _count: '1' });
  const { resource: slots } = await fhir(`Slot?${query}`);
  const [{ resource: slot }] = slots.entry;
  const { resource: patient } = await fhir('Patient', {
    method: 'POST',
    body: { resourceType: 'Patient', name: [{ family: 'Muster', given: ['Kim'] }] },
  });
  const booked = await fhir('Appointment/$book', {
    method: 'POST',
    body: {
      resourceType: 'Appointment',
      status: 'proposed',
      start: slot.start,
      end: slot.end,
      slot: [{ reference: `Slot/${slot.id}` }],
      participant: [{ actor: { reference: `Patient/${patient.id}` }, status: 'accepted' }],
    },
  });
  const path = booked.location.replace(`${base}/`, '');
  const read = await fhir(path);
  const cancelled = await fhir(path, {
    method: 'PATCH',
    type: 'application/json-patch+json',
    body: [{ op: 'replace', path: '/status', value: 'cancelled' }],
  });
  return [booked, read, cancelled].map(({ resource }) => resource.status);
}
