import { type Html, html } from '../pages/html.ts'
import type { Page } from '../pages/layout.ts'
import type { OneTimeLink } from './one-time-link.ts'
import { passwordLength } from './sent-fields.ts'

/** The page of a link that never worked or works no longer; it does not tell which. */
export const deadLinkPage: Page = {
  title: 'This link does not work',
  content: html`<p>A link works once, for 24 hours. Ask whoever gave it to you for a new one.</p>`,
}

/** The page after a link was followed. */
export const doneLinkPage: Page = {
  title: 'You are all set',
  isDone: true,
  content: html`<p>You can sign in now, in the browser or in a terminal with <code>berth login</code>.</p>`,
}

/** The form of a link. @param wrong says why the last attempt failed */
export function linkPage(link: OneTimeLink, isKnown: boolean, wrong: string | null = null, name = ''): Page {
  const problem = wrong === null ? null : html`<p class="wrong" role="alert">${wrong}</p>`
  if (link.kind === 'reset') {
    return {
      title: link.isFirst ? 'Choose your password' : 'Choose a new password',
      content: html`<p>For <strong>${link.email}</strong>. ${link.isFirst ? null : 'A new password ends all your sign-ins.'}</p>${problem}
<form method="post">${hiddenEmail(link.email)}${newPassword}<button type="submit">Set password</button></form>`,
    }
  }
  const { organization, email } = link
  const fields = isKnown
    ? html`<label for="password">Password of your account
<input id="password" name="password" type="password" autocomplete="current-password" required autofocus></label>`
    : html`<label for="name">Your name
<input id="name" name="name" type="text" autocomplete="name" maxlength="100" value="${name}" required autofocus></label>${newPassword}`
  return {
    title: `Join ${organization}`,
    content: html`<p>You were invited as <strong>${email}</strong>. ${isKnown ? 'You have an account: its password lets you join.' : 'Choose a name and a password to join.'}</p>${problem}
<form method="post">${hiddenEmail(email)}${fields}<button type="submit">Join</button></form>`,
  }
}

/** Password managers store the new password under this name. They ignore fields of the type `hidden`. */
const hiddenEmail = (email: string): Html =>
  html`<input type="email" name="username" autocomplete="username" value="${email}" hidden>`

const newPassword = html`<label for="password">New password
<input id="password" name="password" type="password" autocomplete="new-password" minlength="${passwordLength.min}" required>
<small>At least ${passwordLength.min} characters. A sentence is fine.</small></label>`
