import { createHash } from 'node:crypto';

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

const escaped = (text: string): string => text.replace(/[&<>"]/g, (character) => entities[character] ?? '');

const style = `body{font:1rem/1.5 system-ui,sans-serif;max-width:22rem;margin:4rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
label{display:block;margin:1rem 0 .25rem}input{font:inherit;width:100%;padding:.5rem;box-sizing:border-box;border:1px solid #595959}
button{font:inherit;margin-top:1.5rem;padding:.5rem 1.5rem;background:#1a4f8b;color:#fff;border:0;cursor:pointer}
[role=alert]{border-left:4px solid #b3261e;padding-left:.75rem}`;

/** The page may load nothing, and send its form to this server and on to the client that asked. */
export function signInPolicy(redirectUri: string): string {
  const digest = createHash('sha256').update(style).digest('base64');
  const { origin } = new URL(redirectUri);
  return `default-src 'none'; style-src 'sha256-${digest}'; form-action 'self' ${origin}; frame-ancestors 'none'; base-uri 'none'`;
}

/**
 * The page where people sign in, in place of the page of Medplum's app to which `GET /oauth2/authorize` leads.
 *
 * @param parameters - of the authorization request, sent along with the form
 * @param problem - why the last attempt failed
 */
export function signInPage(parameters: Readonly<Record<string, string>>, problem?: string): string {
  const hidden = Object.entries(parameters)
    .filter(([name]) => name !== 'email' && name !== 'password')
    .map(([name, value]) => `<input type="hidden" name="${escaped(name)}" value="${escaped(value)}">`);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sign in to the embedded Medplum</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>Sign in</h1>
<p>This is the embedded Medplum. On a real server its own page is here.</p>
${problem ? `<p role="alert">${escaped(problem)}</p>` : ''}
<form method="post" action="/oauth">
${hidden.join('\n')}
<label for="email">E-mail</label>
<input id="email" name="email" type="email" autocomplete="username" required value="${escaped(parameters.email ?? '')}">
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required>
<button>Sign in</button>
</form>
</main>
</body>
</html>`;
}
