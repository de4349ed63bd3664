import type { Patient } from '@medplum/fhirtypes';
import { isPatient, replacementIssues, submittedPatient, updatedPatient } from '../../core/booking/patient/submit.ts';
import type { Issue } from '../../core/fhir/outcome/outcome.ts';
import { isId } from '../../core/fhir/reference.ts';
import { ownRefusal } from '../bots/error-response.ts';
import type { GatewayContext } from '../context.ts';
import type { FhirRequest, Handler } from '../handler.ts';
import { problem, refusal } from '../http/errors.ts';
import { ifMatchVersion } from '../http/if-match.ts';
import { type FhirResponse, preferred, versionHeaders } from '../http/response.ts';
import type { UpstreamAnswer, UpstreamFailure } from '../medplum/client.ts';
import { bodyOf, isSuccess, upstreamProblem } from '../medplum/errors.ts';
import { publicResource } from '../medplum/public-resources.ts';
import { searchIssue } from '../search/parameters/param.ts';
import { searchControls } from '../search/result/result-parameters.ts';
import { formatQuery, parseQuery, rewriteSearch } from '../search/rewrite.ts';

/** Turns Medplum's answer to a write into the service's. */
function written(answer: UpstreamAnswer, { returnPreference }: FhirRequest, { config }: GatewayContext): FhirResponse {
  const resource = publicResource(answer.body, 'Patient');
  if (!resource) {
    return problem('bad-gateway');
  }
  const location: Record<string, string> =
    answer.status === 201 ? { location: `${config.baseUrl}/Patient/${resource.id}` } : {};
  const headers = { ...location, ...versionHeaders(resource) };
  return preferred({ status: answer.status, headers, resource }, returnPreference);
}

/** Sends a patient to be stored. */
const storePatient = (
  method: 'POST' | 'PUT',
  path: string,
  headers: Readonly<Record<string, string>>,
  patient: Patient,
  { upstreamHeaders }: FhirRequest,
  { upstream }: GatewayContext,
): Promise<UpstreamAnswer | UpstreamFailure> =>
  upstream.call({
    method,
    path,
    headers: { ...upstreamHeaders, ...headers, 'content-type': 'application/fhir+json' },
    body: JSON.stringify(patient),
  });

/** What the caller is told of a patient that was sent to be stored. */
function answerTo(
  answer: UpstreamAnswer | UpstreamFailure,
  exchange: FhirRequest,
  context: GatewayContext,
): FhirResponse {
  // Medplum passes on, with status 400, the objections of its Bots to a write.
  return isSuccess(answer)
    ? written(answer, exchange, context)
    : (ownRefusal(bodyOf(answer), context.config) ?? upstreamProblem(answer, context.config));
}

/** `If-None-Exist`, checked and rewritten like any search; a condition on the patient itself, without chains. */
function condition(sent: string | undefined, { config }: GatewayContext): Record<string, string> | readonly Issue[] {
  if (sent === undefined) {
    return {};
  }
  const search = rewriteSearch('Patient', parseQuery(sent.replace(/^\?/, '')), {
    ...config,
    handling: 'strict',
    now: Date.now(),
  });
  if (!('params' in search)) {
    return search;
  }
  const filters = search.params.filter(({ name }) => !Object.hasOwn(searchControls, name));
  const chained = filters.filter(({ chain }) => chain !== undefined);
  return chained.length > 0
    ? chained.map(({ name }) =>
        searchIssue(name, `If-None-Exist supports conditions on the patient itself only, not '${name}'.`),
      )
    : { 'if-none-exist': formatQuery(filters) };
}

function isIssues(value: Record<string, string> | readonly Issue[]): value is readonly Issue[] {
  return Array.isArray(value);
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
  const headers = condition(exchange.header('if-none-exist'), context);
  const checked = submittedPatient(body, caller, config);
  if (isIssues(headers) || 'issues' in checked) {
    const issues = [...(isIssues(headers) ? headers : []), ...('issues' in checked ? checked.issues : [])];
    return refusal(issues, config);
  }
  return answerTo(
    await storePatient('POST', 'fhir/R4/Patient', headers, checked.patient, exchange, context),
    exchange,
    context,
  );
};

/** How often a patient is read again that others change at the same moment. */
const ATTEMPTS = 5;

/**
 * `PUT /Patient/{id}`: replaces a patient; an unknown one is not created (404). `If-Match` is honoured; without it, too, only
 * what was judged is replaced: the clinic may merge the patient meanwhile.
 *
 * @see specification 4.6; https://hl7.org/fhir/R4/http.html#update
 */
export const updatePatient: Handler = async (exchange, context) => {
  const { body, caller, params } = exchange;
  const { id } = params;
  if (!isId(id) || !caller) {
    return problem('not-found');
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
    const answer = await storePatient('PUT', path, headers, checked.patient, exchange, context);
    const isOvertaken = 'status' in answer && answer.status === 412 && ifMatch.version === undefined;
    if (!isOvertaken || left === 1) {
      return answerTo(isOvertaken ? { ...answer, status: 409 } : answer, exchange, context);
    }
  }
};
