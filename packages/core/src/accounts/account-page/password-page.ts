import { passwordLength } from '../links/sent-fields.ts'
import { html } from '../pages/html.ts'
import type { Page } from '../pages/layout.ts'
import { alert } from '../sign-in/pages/sign-in-page.ts'

/** The page on which a person changes their password. */
export const passwordPage = (form: {
  readonly csrf: string
  readonly email: string
  readonly back: string
  readonly message: string | null
}): Page => ({
  title: 'Change your password',
  content: html`<p>Everything else that you have signed in to is signed out.</p>
${alert(form.message)}
<form method="post">
<input type="hidden" name="csrf" value="${form.csrf}">
<input type="hidden" name="username" autocomplete="username" value="${form.email}">
<label>Current password<input type="password" name="password" autocomplete="current-password" maxlength="${passwordLength.max}" required></label>
<label>New password<input type="password" name="new-password" autocomplete="new-password" minlength="${passwordLength.min}" maxlength="${passwordLength.max}" required>
<small>At least ${passwordLength.min} characters. A sentence is fine.</small></label>
<div class="buttons"><button type="submit" name="decision" value="change">Change password</button></div>
</form>
<p><a href="${form.back}">Back to your account</a></p>`,
})
