import type { Patient } from '@medplum/fhirtypes';
import { conditionalReferenceIssues } from '../../core/fhir/conditional-reference.ts';
import { narrativeIssues } from '../../core/fhir/narrative.ts';
import type { Issue } from '../../core/fhir/outcome.ts';
import { isId } from '../../core/fhir/reference.ts';
import { withoutReserved } from '../../core/fhir/reserved.ts';
import { isObject } from '../../core/fhir/resource.ts';
import { belongsTo, metaOfSubmitted } from '../../core/fhir/tags.ts';
import { unsupportedIssues } from '../../core/fhir/unsupported.ts';
import type { GatewayContext } from '../context.ts';
import type { FhirRequest, Handler } from '../handler.ts';
import { problem, refusal } from '../http/errors.ts';
import { ifMatchVersion } from '../http/if-match.ts';
import { type FhirResponse, preferred, versionHeaders } from '../http/response.ts';
import type { UpstreamAnswer } from '../medplum/client.ts';
import { isSuccess, upstreamProblem } from '../medplum/errors.ts';
import { publicResource } from '../medplum/public-resources.ts';
import { searchIssue } from '../search/filter.ts';
import { searchControls } from '../search/result-parameters.ts';
import { formatQuery, parseQuery, rewriteSearch } from '../search/rewrite.ts';
import { metaOfUpdated } from './patient-tags.ts';

function isPatient(body: unknown): body is Patient {
  return isObject(body) && body.resourceType === 'Patient' && (body.meta === undefined || isObject(body.meta));
}

const notAPatient: Issue = {
  code: 'malformed-request',
  diagnostics: 'The body must be a Patient resource.',
  expression: 'Patient',
};

/** Merging is the clinic's: the appointments of a patient who is replaced go to the one that stays. */
const merged: Issue = {
  code: 'profile-violation',
  diagnostics: 'Only the clinic merges patients: leave links of the type replaced-by as they are.',
  expression: 'Patient.link',
};

/** Whom a patient was merged into, as one text that can be compared. */
const survivors = (patient: Patient | undefined): string =>
  JSON.stringify((Array.isArray(patient?.link) ? patient.link : []).filter((one) => one?.type === 'replaced-by'));

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

/** Stores a patient and answers with what came of it. */
async function store(
  method: 'POST' | 'PUT',
  path: string,
  headers: Readonly<Record<string, string>>,
  patient: Patient,
  exchange: FhirRequest,
  context: GatewayContext,
): Promise<FhirResponse> {
  const answer = await context.upstream.call({
    method,
    path,
    headers: { ...exchange.upstreamHeaders, ...headers, 'content-type': 'application/fhir+json' },
    body: JSON.stringify(patient),
  });
  return isSuccess(answer) ? written(answer, exchange, context) : upstreamProblem(answer, context.config);
}

/** `If-None-Exist`, checked and rewritten like any search; a condition on the patient itself, without chains. */
function condition(sent: string | undefined, { config }: GatewayContext): Record<string, string> | readonly Issue[] {
  if (sent === undefined) {
    return {};
  }
  const search = rewriteSearch('Patient', parseQuery(sent.replace(/^\?/, '')), config);
  if (!('params' in search)) {
    return search;
  }
  const filters = search.params.filter(({ name }) => !Object.hasOwn(searchControls, name));
  const chained = filters.filter(({ chain }) => chain !== undefined);
  return chained.length > 0
    ? chained.map(({ name }) =>
        searchIssue(name, `If-None-Exist takes conditions on the patient itself, not '${name}'.`),
      )
    : { 'if-none-exist': formatQuery(filters) };
}

function isIssues(value: Record<string, string> | readonly Issue[]): value is readonly Issue[] {
  return Array.isArray(value);
}

/** What keeps a patient from being stored as it was sent, whoever sends it. */
function formIssues(body: Patient): Issue[] {
  return [
    ...conditionalReferenceIssues(body, 'Patient'),
    ...unsupportedIssues(body, 'Patient'),
    ...narrativeIssues(body, 'Patient'),
  ];
}

/**
 * `POST /Patient`: submits a patient; what a requestor submits carries its tags. What the service alone sets is
 * dropped. Conditional creation
 * (`If-None-Exist`) is honoured.
 *
 * @see specification 4.6; https://hl7.org/fhir/R4/http.html#create
 */
export const createPatient: Handler = async (exchange, context) => {
  const { config } = context;
  const body = withoutReserved(exchange.body, config);
  const headers = condition(exchange.header('if-none-exist'), context);
  if (!isPatient(body)) {
    return refusal([notAPatient], config);
  }
  const issues = [...(isIssues(headers) ? headers : []), ...formIssues(body)];
  if (isIssues(headers) || issues.length > 0) {
    return refusal(issues, config);
  }
  const { caller } = exchange;
  if (!caller) {
    return problem('unauthorized');
  }
  const isRequestor = caller.profileType === 'ClientApplication';
  if (isRequestor && survivors(body) !== survivors(undefined)) {
    return refusal([merged], config);
  }
  const patient = isRequestor ? { ...body, meta: metaOfSubmitted(body.meta, caller.profileId, config) } : body;
  return store('POST', 'fhir/R4/Patient', headers, patient, exchange, context);
};

function bodyIssues(body: unknown, id: string): readonly Issue[] {
  if (!isPatient(body)) {
    return [notAPatient];
  }
  const diagnostics = `The id in the body must be that of the address, '${id}'.`;
  const idIssues: Issue[] =
    body.id === id ? [] : [{ code: 'malformed-request', diagnostics, expression: 'Patient.id' }];
  return [...idIssues, ...formIssues(body)];
}

/**
 * `PUT /Patient/{id}`: replaces a patient; an unknown one is not created (404). `If-Match` is honoured.
 *
 * @see specification 4.6; https://hl7.org/fhir/R4/http.html#update
 */
export const updatePatient: Handler = async (exchange, context) => {
  const { id } = exchange.params;
  const body = withoutReserved(exchange.body, context.config);
  if (!isId(id)) {
    return problem('not-found');
  }
  const ifMatch = ifMatchVersion(exchange.header('if-match'));
  const issues = [...bodyIssues(body, id), ...('code' in ifMatch ? [ifMatch] : [])];
  if (!isPatient(body) || 'code' in ifMatch || issues.length > 0) {
    return refusal(issues, context.config);
  }
  const path = `fhir/R4/Patient/${id}`;
  const stored = await context.upstream.call({ method: 'GET', path, headers: exchange.upstreamHeaders });
  if (!isSuccess(stored)) {
    return upstreamProblem(stored, context.config);
  }
  const before = isPatient(stored.body) ? stored.body : undefined;
  if (survivors(body) !== survivors(before)) {
    if (before && belongsTo(before, exchange.caller?.profileId ?? '', context.config)) {
      return refusal([merged], context.config);
    }
  }
  const meta = metaOfUpdated(body.meta, before?.meta, context.config);
  const headers: Record<string, string> = ifMatch.version ? { 'if-match': `W/"${ifMatch.version}"` } : {};
  return store('PUT', path, headers, { ...body, meta }, exchange, context);
};
