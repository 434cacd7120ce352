import { type Html, html } from '../pages/html.ts'
import type { Page } from '../pages/layout.ts'
import { alert } from '../sign-in/pages/sign-in-page.ts'
import { qrCode } from './qr-code.ts'

interface Form {
  readonly csrf: string
  readonly back: string
  readonly message: string | null
}

const password = html`<label>Your password<input type="password" name="password" autocomplete="current-password" maxlength="1024" required></label>`
const backTo = (path: string): Html => html`<p><a href="${path}">Back to your account</a></p>`

/** The page of a person without a second factor. */
export const beginPage = ({ csrf, back, message }: Form): Page => ({
  title: 'Set up a second factor',
  content: html`<p>An authenticator app on your phone then shows a code that you enter after your password.</p>
${alert(message)}
<form method="post">
<input type="hidden" name="csrf" value="${csrf}">
${password}
<div class="buttons"><button type="submit" name="decision" value="begin">Continue</button></div>
</form>
${backTo(back)}`,
})

/** The page that shows a new secret, and asks for a code that proves that the authenticator has it. */
export const confirmPage = ({
  csrf,
  back,
  message,
  proposal,
  secret,
  uri,
}: Form & {
  /** The secret, sealed: the next form brings it back. */
  readonly proposal: string
  /** In base32. */
  readonly secret: string
  readonly uri: string
}): Page => ({
  title: 'Scan this code',
  content: html`<p>Scan it with your authenticator, or enter the key by hand.</p>
${qrCode(uri)}
<dl>
<dt>Key</dt><dd><code>${secret.match(/.{1,4}/g)?.join(' ') ?? ''}</code></dd>
<dt>Address</dt><dd><code>${uri}</code></dd>
</dl>
${alert(message)}
<form method="post">
<input type="hidden" name="csrf" value="${csrf}">
<input type="hidden" name="proposal" value="${proposal}">
<label>Code<input class="code" type="text" name="code" inputmode="numeric" autocomplete="one-time-code" maxlength="10" required autofocus></label>
<div class="buttons"><button type="submit" name="decision" value="confirm">Turn it on</button></div>
</form>
${backTo(back)}`,
})

/** The page that shows recovery codes, once. */
export const recoveryCodesPage = (codes: readonly string[], back: string): Page => ({
  title: 'Keep your recovery codes',
  content: html`<p>If you lose your authenticator, each of these signs you in once in place of its code. They are shown only now.</p>
<ul class="codes">${codes.map(code => html`<li><code>${code}</code></li>\n`)}</ul>
${backTo(back)}`,
})

/** The page of a person who has a second factor. */
export const changePage = ({ csrf, back, message }: Form): Page => ({
  title: 'Your second factor',
  content: html`<p>Enter your password, or a code of your authenticator.</p>
${alert(message)}
<form method="post">
<input type="hidden" name="csrf" value="${csrf}">
<label>Your password<input type="password" name="password" autocomplete="current-password" maxlength="1024"></label>
<label>Or a code<input class="code" type="text" name="code" autocomplete="one-time-code" maxlength="24"></label>
<div class="buttons">
<button type="submit" name="decision" value="replace-codes">Make new recovery codes</button>
<button class="second" type="submit" name="decision" value="remove">Turn the second factor off</button>
</div>
</form>
${backTo(back)}`,
})
