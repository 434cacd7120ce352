import type { LinkedIdentity } from '../external/identity-sql.ts'
import { html } from '../pages/html.ts'
import type { Page } from '../pages/layout.ts'
import { alert } from '../sign-in/pages/sign-in-page.ts'

/** The page of the external identities that sign a person in. */
export const identitiesPage = (form: {
  readonly csrf: string
  readonly back: string
  readonly message: string | null
  readonly hasPassword: boolean
  readonly identities: readonly (LinkedIdentity & { readonly name: string })[]
  readonly providers: readonly { readonly id: string; readonly name: string }[]
}): Page => {
  const { csrf, back, message, identities, providers } = form
  const password = form.hasPassword
    ? html`<label>Your password<input type="password" name="password" autocomplete="current-password" maxlength="1024" required></label>`
    : null
  return {
    title: 'Other ways to sign in',
    content: html`${alert(message)}
${identities.length === 0 ? html`<p>None is linked to your account.</p>` : null}
${identities.map(
  ({ name, issuer, subject, linkedAt }) => html`<h2>${name}</h2>
<p>${subject}, linked on ${linkedAt.toISOString().slice(0, 10)}</p>
<form method="post">
<input type="hidden" name="csrf" value="${csrf}">
<input type="hidden" name="issuer" value="${issuer}">
<input type="hidden" name="subject" value="${subject}">
${password}
<button class="second" type="submit" name="decision" value="unlink">Unlink</button>
</form>
`,
)}
${
  providers.length === 0
    ? null
    : html`<h2>Link another</h2>
<form method="post">
<input type="hidden" name="csrf" value="${csrf}">
${password}
<div class="buttons">
${providers.map(({ id, name }) => html`<button type="submit" name="provider" value="${id}">Link ${name}</button>\n`)}</div>
</form>`
}
<p><a href="${back}">Back to your account</a></p>`,
  }
}
