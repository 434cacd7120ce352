import { html } from '../../pages/html.ts'
import { donePage, type Page, plainPage } from '../../pages/layout.ts'
import type { MembershipToChoose } from '../../sign-in/sign-in-sql.ts'
import type { IntentToShow } from '../intent-sql.ts'
import { describeCapability } from './capability-descriptions.ts'

/** The page of an intent that is unknown, used or over; it does not tell which. */
export const deadIntentPage = plainPage(
  'This request is over',
  'A request to install an app works once, for 15 minutes. Start again from the app.',
)

export const formOutOfDatePage = plainPage('This form is out of date', 'Start again from the app that sent you.')

export const nothingInstalledPage = plainPage('Nothing was installed', 'You can close this page.')

export const noMembershipPage = plainPage(
  'You belong to no organization',
  'An app is installed in an organization. Ask its administrator to invite you.',
)

/** The page after a decision, for an app that named no place to go back to. */
export const decidedPage = (approved: boolean): Page =>
  approved ? donePage('The app is installed', 'Go back to the app. You can close this page.') : nothingInstalledPage

/** The page that asks in which of a person's organizations an app is to be installed. */
export const choicePage = (form: {
  readonly csrf: string
  readonly intent: IntentToShow
  readonly email: string
  readonly memberships: readonly MembershipToChoose[]
}): Page => ({
  title: `Where should ${form.intent.name} be installed?`,
  content: html`<p>You are signed in as <strong>${form.email}</strong>. The next page shows what the app may do there.</p>
<form method="post">
<input type="hidden" name="csrf" value="${form.csrf}">
<fieldset><legend>Organization</legend>
${form.memberships.map(
  (
    { id, organization, role },
    index,
  ) => html`<label class="choice"><input type="radio" name="membership" value="${id}"${index === 0 ? html` checked` : null} required><span>${organization}<small>${role === 'admin' ? 'Administrator' : 'Member'}</small></span></label>
`,
)}</fieldset>
<div class="buttons">
<button type="submit" name="decision" value="choose">Continue</button>
</div>
</form>`,
})

/** The page on which a person decides. */
export const installPage = (form: {
  readonly csrf: string
  readonly intent: IntentToShow
  readonly email: string
  readonly membership: MembershipToChoose
}): Page => {
  const { name, slug, publisher, capabilities, redirect_url: redirectUrl } = form.intent
  const { id, organization } = form.membership
  return {
    title: `Install ${name}?`,
    content: html`<dl>
<dt>App</dt><dd>${name}<small>${slug}</small></dd>
<dt>Published by</dt><dd>${publisher}</dd>
<dt>Install in</dt><dd>${organization}</dd>
<dt>You</dt><dd>${form.email}</dd>
${
  redirectUrl === null
    ? null
    : html`<dt>Then go to</dt><dd>${new URL(redirectUrl).origin}</dd>
`
}</dl>
<h2>In ${organization} the app may:</h2>
<ul class="may">
${capabilities.map(capability => html`<li>${describeCapability(capability)}<small>${capability}</small></li>\n`)}</ul>
<p class="note">If the app is installed there already, it may do this from now on, and nothing else. Do not install it if you did not start this yourself.</p>
<form method="post">
<input type="hidden" name="csrf" value="${form.csrf}">
<input type="hidden" name="membership" value="${id}">
<div class="buttons">
<button type="submit" name="decision" value="approve">Install in ${organization}</button>
<button class="second" type="submit" name="decision" value="deny">Do not install</button>
</div>
</form>`,
  }
}

/** The page for a member who may not decide. @param names of those who may */
export const askSomebodyPage = (app: string, organization: string, names: readonly string[]): Page => ({
  title: `You cannot install ${app}`,
  content: html`<p>In <strong>${organization}</strong> this needs an administrator, or the permission to manage integrations.</p>
<p>Ask one of these people to start the installation from the app:</p>
<ul>
${names.map(name => html`<li>${name}</li>\n`)}</ul>`,
})
