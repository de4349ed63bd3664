import type { Scenario } from '../scenario.ts';
import { parametersAndFields, portal } from './access.ts';
import { botInput, botOutput } from './bots.ts';
import { batch, conditionalTransaction, transaction } from './bundles.ts';
import { administration, deployment } from './deployment.ts';
import { badInput, conditional, expunge, lifeOfAResource } from './interactions.ts';
import { tokens } from './oauth.ts';
import { outbox } from './outbox.ts';
import { fhirPathPatch, fhirPathPatchOfInnerLists, jsonPatch } from './patch.ts';
import { scheduling } from './scheduling.ts';
import { searchParameters, searchRefusals, searchResults } from './search.ts';
import { preCommit, subscriptionsToBots } from './subscriptions.ts';
import { websocketSubscriptions } from './websockets.ts';

/** All scenarios, by the name of the file that holds their recording. */
export const scenarios: Readonly<Record<string, Scenario>> = {
  'life-of-a-resource': lifeOfAResource,
  expunge,
  'bad-input': badInput,
  conditional,
  'json-patch': jsonPatch,
  'fhirpath-patch': fhirPathPatch,
  'fhirpath-patch-of-inner-lists': fhirPathPatchOfInnerLists,
  batch,
  transaction,
  'conditional-transaction': conditionalTransaction,
  'search-parameters': searchParameters,
  'search-results': searchResults,
  'search-refusals': searchRefusals,
  outbox,
  portal,
  'parameters-and-fields': parametersAndFields,
  deployment,
  administration,
  'bot-output': botOutput,
  'bot-input': botInput,
  'subscriptions-to-bots': subscriptionsToBots,
  'pre-commit': preCommit,
  tokens,
  scheduling,
  'websocket-subscriptions': websocketSubscriptions,
};
