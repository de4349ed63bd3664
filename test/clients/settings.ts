/** What the programs of this folder read from the environment. */

function required(name: string): string {
  const value = process.env[name];
  if (!value) {
    throw new Error(`Set ${name}.`);
  }
  return value;
}

/** FHIR base address of the service, without a slash at its end. */
export const base = required('BASE');

/** The origin of the service, where tokens are given out. */
export const { origin } = new URL(base);

export const clientId = required('CLIENT_ID');
export const clientSecret = required('CLIENT_SECRET');

/** Id of the Schedule to book in. */
export const schedule = required('SCHEDULE');
