import { type Html, html } from '../../pages/html.ts'
import type { Page } from '../../pages/layout.ts'

const autofocus = html` autofocus`

/** A message about the last attempt, read out at once. */
export const alert = (message: string | null): Html | null =>
  message === null ? null : html`<p class="wrong" role="alert">${message}</p>`

/** The page that asks for email and password. */
export const signInPage = (form: {
  readonly csrf: string
  readonly email: string
  readonly message: string | null
  /** One sentence that says what the person signs in for. */
  readonly purpose: Html
  /** Providers that people may sign in with instead. */
  readonly providers: readonly { readonly id: string; readonly name: string }[]
}): Page => ({
  title: 'Sign in',
  content: html`<p>${form.purpose}</p>
${alert(form.message)}
<form method="post">
<input type="hidden" name="csrf" value="${form.csrf}">
<label>Email<input type="email" name="email" value="${form.email}" autocomplete="username" maxlength="254" required${form.email === '' ? autofocus : null}></label>
<label>Password<input type="password" name="password" autocomplete="current-password" maxlength="1024" required${form.email === '' ? null : autofocus}></label>
<div class="buttons">
<button type="submit" name="decision" value="sign-in">Sign in</button>
${form.providers.map(
  ({
    id,
    name,
  }) => html`<button class="second" type="submit" name="provider" value="${id}" formnovalidate>Continue with ${name}</button>
`,
)}<button class="second" type="submit" name="decision" value="cancel" formnovalidate>Cancel</button>
</div>
</form>
<p class="note">Forgot your password? An administrator of your organization makes you a link for a new one.</p>`,
})

/** The page that asks for the code of the second factor. */
export const secondFactorPage = (form: {
  readonly csrf: string
  readonly factor: string
  readonly message: string | null
}): Page => ({
  title: 'Enter your code',
  content: html`<p>Enter the six digits that your authenticator shows now.</p>
${alert(form.message)}
<form method="post">
<input type="hidden" name="csrf" value="${form.csrf}">
<input type="hidden" name="factor" value="${form.factor}">
<label>Code<input class="code" type="text" name="code" inputmode="numeric" autocomplete="one-time-code" maxlength="10" required autofocus></label>
<div class="buttons">
<button type="submit" name="decision" value="verify">Continue</button>
<button class="second" type="submit" name="decision" value="cancel" formnovalidate>Cancel</button>
</div>
</form>
<details>
<summary>Use a recovery code</summary>
<form method="post">
<input type="hidden" name="csrf" value="${form.csrf}">
<input type="hidden" name="factor" value="${form.factor}">
<label>Recovery code<input class="code" type="text" name="code" inputmode="text" autocapitalize="characters" autocomplete="off" spellcheck="false" maxlength="24" required></label>
<div class="buttons"><button type="submit" name="decision" value="verify">Sign in with it</button></div>
</form>
</details>`,
})
