import type { Patient } from '@medplum/fhirtypes';
import {
  isPatient,
  replacementIssues,
  submittedPatient,
  updatedPatient,
} from '../../core/booking/patients/conformance.ts';
import type { Issue } from '../../core/fhir/outcome/outcome.ts';
import { ownRefusal } from '../bots/error-response.ts';
import type { GatewayContext } from '../context.ts';
import { type FhirRequest, type Handler, withId } from '../handler.ts';
import { problem, refusal } from '../http/errors.ts';
import { ifMatchVersion } from '../http/if-match.ts';
import { type FhirResponse, preferred, written } from '../http/response.ts';
import type { MedplumResponse, UpstreamFailure } from '../medplum/client.ts';
import { bodyOf, isSuccess, upstreamProblem } from '../medplum/errors.ts';
import { publicResource } from '../medplum/public-resources.ts';
import { searchIssue } from '../search/parameters/param.ts';
import { searchControls } from '../search/result/result-parameters.ts';
import { formatQuery, parseQuery, rewriteSearch } from '../search/rewrite.ts';

const storePatient = (
  method: 'POST' | 'PUT',
  path: string,
  headers: Readonly<Record<string, string>>,
  patient: Patient,
  { upstreamHeaders }: FhirRequest,
  { upstream }: GatewayContext,
): Promise<MedplumResponse | UpstreamFailure> =>
  upstream.call({
    method,
    path,
    headers: { ...upstreamHeaders, ...headers, 'content-type': 'application/fhir+json' },
    body: JSON.stringify(patient),
  });

/** The response to a create or an update of a patient. */
function writeResponse(
  response: MedplumResponse | UpstreamFailure,
  exchange: FhirRequest,
  context: GatewayContext,
): FhirResponse {
  if (!isSuccess(response)) {
    // If a pre-commit Bot refuses a write, Medplum responds with status 400 and the Bot's outcome.
    return ownRefusal(bodyOf(response), context.config) ?? upstreamProblem(response, context.config);
  }
  const resource = publicResource(response.body, 'Patient');
  return resource
    ? preferred(written(response.status, resource, context.config.baseUrl), exchange.returnPreference)
    : problem('bad-gateway');
}

/** `If-None-Exist` for Medplum, checked and rewritten like any search; a chain is an issue, an absent header no condition. */
function ifNoneExist(
  sent: string | undefined,
  { config }: GatewayContext,
): { readonly headers: Record<string, string> } | { readonly issues: readonly Issue[] } {
  if (sent === undefined) {
    return { headers: {} };
  }
  const search = rewriteSearch('Patient', parseQuery(sent.replace(/^\?/, '')), {
    ...config,
    handling: 'strict',
    now: Date.now(),
  });
  if (!('params' in search)) {
    return { issues: search };
  }
  const filters = search.params.filter(({ name }) => !Object.hasOwn(searchControls, name));
  const chained = filters.filter(({ chain }) => chain !== undefined);
  const issues = chained.map(({ name }) =>
    searchIssue(name, `If-None-Exist supports conditions on the patient itself only, not '${name}'.`),
  );
  return issues.length > 0 ? { issues } : { headers: { 'if-none-exist': formatQuery(filters) } };
}

/**
 * `POST /Patient`: submits a patient; a patient that a requestor submits carries the requestor's tags. Conditional
 * creation (`If-None-Exist`) is honoured.
 *
 * @see specification 4.6; https://hl7.org/fhir/R4/http.html#create
 */
export const createPatient: Handler = async (exchange, context) => {
  const { body, caller } = exchange;
  const { config } = context;
  if (!caller) {
    return problem('unauthorized');
  }
  const condition = ifNoneExist(exchange.header('if-none-exist'), context);
  const checked = submittedPatient(body, caller, config);
  if ('issues' in condition || 'issues' in checked) {
    return refusal(
      [condition, checked].flatMap((part) => ('issues' in part ? part.issues : [])),
      config,
    );
  }
  const response = await storePatient('POST', 'fhir/R4/Patient', condition.headers, checked.patient, exchange, context);
  return writeResponse(response, exchange, context);
};

/** Maximum number of attempts to update a patient that others change at the same time. */
const ATTEMPTS = 5;

/**
 * `PUT /Patient/{id}`: replaces a patient; an unknown one is not created (404). `If-Match` is honoured. Without it,
 * too, only the version that was checked is replaced, because the clinic may merge the patient at the same time: another
 * version is checked again, after five attempts the status is 409.
 *
 * @see specification 4.6; https://hl7.org/fhir/R4/http.html#update
 */
export const updatePatient: Handler = withId(async (id, exchange, context) => {
  const { body, caller } = exchange;
  if (!caller) {
    return problem('unauthorized');
  }
  const ifMatch = ifMatchVersion(exchange.header('if-match'));
  const issues = [...replacementIssues(body, id), ...('code' in ifMatch ? [ifMatch] : [])];
  if ('code' in ifMatch || issues.length > 0) {
    return refusal(issues, context.config);
  }
  const path = `fhir/R4/Patient/${id}`;
  for (let left = ATTEMPTS; ; left--) {
    const stored = await context.upstream.call({ method: 'GET', path, headers: exchange.upstreamHeaders });
    if (!isSuccess(stored)) {
      return upstreamProblem(stored, context.config);
    }
    if (!isPatient(stored.body)) {
      return problem('bad-gateway');
    }
    const checked = updatedPatient(body, stored.body, caller, context.config);
    if ('issues' in checked) {
      return refusal(checked.issues, context.config);
    }
    const version = ifMatch.version ?? stored.body.meta?.versionId;
    const headers: Record<string, string> = version ? { 'if-match': `W/"${version}"` } : {};
    const response = await storePatient('PUT', path, headers, checked.patient, exchange, context);
    const isOvertaken = 'status' in response && response.status === 412 && ifMatch.version === undefined;
    if (!isOvertaken || left === 1) {
      return writeResponse(isOvertaken ? { ...response, status: 409 } : response, exchange, context);
    }
  }
});
