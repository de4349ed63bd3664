// SPDX-FileCopyrightText: Copyright Orangebot, Inc. and Medplum contributors
// SPDX-License-Identifier: Apache-2.0
// From Medplum 5.1.23, packages/server/src/cloud/aws/deploy.ts and src/bots/utils.ts, without the part that makes PDFs.

/** What Medplum puts around the code of a Bot that it deploys to AWS Lambda: the file `index.cjs` beside `user.cjs`. */
export const wrapper = `const { ContentType, Hl7Message, MedplumClient, OperationOutcomeError, isOperationOutcome, normalizeOperationOutcome } = require("@medplum/core");
const PdfPrinter = require("pdfmake");
const userCode = require("./user.cjs");

exports.handler = async (event, context) => {

  const { bot, baseUrl, accessToken, requester, contentType, secrets, traceId, headers } = event;
  const medplum = new MedplumClient({
    baseUrl,
    fetch: function(url, options = {}) {
      options.headers ||= {};
      options.headers['X-Trace-Id'] = traceId;
      options.headers['traceparent'] = traceId;
      return fetch(url, options);
    },
    createPdf: () => new PdfPrinter(),
  });
  medplum.setAccessToken(accessToken);
  try {
    let input = event.input;
    if (contentType === ContentType.HL7_V2 && input) {
      input = Hl7Message.parse(input);
    }
    let result = await userCode.handler(medplum, { bot, requester, input, contentType, secrets, traceId, headers });
    if (contentType === ContentType.HL7_V2 && result) {
      result = result.toString();
    }
    return result;
  } catch (err) {
    if (err instanceof OperationOutcomeError || isOperationOutcome(err)) {
      return normalizeOperationOutcome(err);
    }

    if (err instanceof Error) {
      console.log("Unhandled error: " + err.message + "\\n" + err.stack);
    } else if (typeof err === "object") {
      console.log("Unhandled error: " + JSON.stringify(err, undefined, 2));
    } else {
      console.log("Unhandled error: " + err);
    }
    throw err;
  }
}
`;

/**
 * Whether Medplum takes code for an ES module or for CommonJS.
 *
 * @param title - the file name under which it is deployed
 */
export function extensionOf(title: string, code: string): '.cjs' | '.mjs' {
  if (title.endsWith('.cjs') || title.endsWith('.mjs')) {
    return title.endsWith('.cjs') ? '.cjs' : '.mjs';
  }
  return /\bexport\b/.test(code) && !/\bmodule\.exports\b/.test(code) ? '.mjs' : '.cjs';
}
