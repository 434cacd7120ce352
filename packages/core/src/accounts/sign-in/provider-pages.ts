import type { KoaContextWithOIDC } from 'oidc-provider'
import { Html, html } from '../pages/html.ts'
import { donePage, type Page, pageHeaders, plainPage, renderPage } from '../pages/layout.ts'
import { alert } from './pages/sign-in-page.ts'

/** The part of a request's context that answers it. */
type Answering = Pick<KoaContextWithOIDC, 'set' | 'body'>

/** Answers a request of the OpenID provider with a page. */
function show(ctx: Answering, page: Page): void {
  ctx.set(pageHeaders)
  ctx.body = renderPage(page)
}

/** Puts more markup at the end of a form that the provider made; its fields are escaped. */
const formWith = (form: string, more: Html): Html => html`${new Html(form.replace('</form>', ''))}${more}</form>`

/** Asks for the code that a device shows. */
export async function showUserCodeInput(
  ctx: KoaContextWithOIDC,
  form: string,
  _out?: unknown,
  error?: Error & { userCode?: string },
): Promise<void> {
  const secret = /name="xsrf" value="([^"]*)"/.exec(form)?.[1] ?? ''
  const action = /action="([^"]*)"/.exec(form)?.[1] ?? ''
  if (error?.name === 'AbortedError') {
    return show(ctx, plainPage('Sign-in cancelled', 'The device was not signed in. You can close this page.'))
  }
  const message =
    error === undefined ? null : 'This code is wrong, or it has expired or was used. Check it, or start again.'
  show(ctx, {
    title: 'Connect a device',
    content: html`<p>Enter the code that your terminal shows.</p>
${alert(message)}
<form method="post" action="${new Html(action)}">
<input type="hidden" name="xsrf" value="${new Html(secret)}">
<label>Code<input class="code" type="text" name="user_code" value="${error?.userCode ?? ''}" autocomplete="off" autocapitalize="characters" spellcheck="false" maxlength="20" required autofocus></label>
<div class="buttons"><button type="submit">Continue</button></div>
</form>`,
  })
}

/** Shows the code, the client and where the request came from, before anybody approves it. */
export async function showUserCodeConfirmation(
  ctx: KoaContextWithOIDC,
  form: string,
  client: { readonly clientName?: string | undefined; readonly clientId: string },
  device: Readonly<Record<string, unknown>>,
  userCode: string,
): Promise<void> {
  const { ip, ua } = device
  const buttons = html`<div class="buttons">
<button type="submit">The code is the same, continue</button>
<button class="second" type="submit" name="abort" value="yes">Cancel</button>
</div>`
  show(ctx, {
    title: 'Is this your device?',
    content: html`<p>Continue only if you have just started this sign-in yourself, and your terminal shows this code.</p>
<div class="user-code">${userCode}</div>
<dl>
<dt>Client</dt><dd>${client.clientName ?? client.clientId}</dd>
<dt>Address</dt><dd>${typeof ip === 'string' ? ip : 'unknown'}</dd>
<dt>Program</dt><dd>${typeof ua === 'string' && ua !== '' ? ua : 'unknown'}</dd>
</dl>
${formWith(form, buttons)}`,
  })
}

export async function showDeviceConnected(ctx: KoaContextWithOIDC): Promise<void> {
  show(ctx, donePage('Device connected', 'Go back to your terminal. You can close this page.'))
}

/** Asks before it signs anybody out: a link from another site must not be able to do so. */
export async function showSignOut(ctx: KoaContextWithOIDC, form: string): Promise<void> {
  const buttons = html`<div class="buttons">
<button type="submit" name="logout" value="yes">Sign out</button>
<button class="second" type="submit">Keep this browser signed in</button>
</div>`
  show(ctx, {
    title: 'Sign out of Berth?',
    content: html`<p>Terminals that you connected for longer stay signed in until you sign out there.</p>
${formWith(form, buttons)}`,
  })
}

export async function showSignedOut(ctx: KoaContextWithOIDC): Promise<void> {
  show(ctx, donePage('Signed out', 'You have left Berth on this browser. You can close this page.'))
}

/** Says why a request was refused; the client's error, not the service's own words about its inside. */
export async function showError(
  ctx: KoaContextWithOIDC,
  {
    error,
    error_description: description,
  }: { readonly error: string; readonly error_description?: string | undefined },
): Promise<void> {
  const text =
    error === 'server_error'
      ? 'Something failed on our side. Try again in a moment.'
      : `Start again from the program that sent you here. It was told: ${description ?? error}.`
  show(ctx, plainPage('This sign-in cannot go on', text))
}

/**
 * Replaces the page with which the provider lets a script post a form. Without scripts a button does the same; the
 * provider's own markup would ask for it only where scripts are switched off.
 */
export function replaceScriptedForm(ctx: Answering): void {
  if (typeof ctx.body !== 'string' || !ctx.body.includes('<title>Submitting Callback</title>')) return
  const form = /<form [\s\S]*?(?=<noscript>)/.exec(ctx.body)?.[0]
  if (form === undefined) throw new Error('the provider made a form of another shape')
  show(ctx, {
    title: 'One more step',
    content: html`${formWith(form, html`<div class="buttons"><button type="submit" autofocus>Continue</button></div>`)}`,
  })
}
