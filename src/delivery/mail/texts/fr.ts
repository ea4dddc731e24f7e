import type { MailTexts } from './en.ts'
import { durationIn, pluralIn, signInChange, timeIn } from './formats.ts'

// French has a space that does not break before a colon.
const plural = pluralIn('fr')
const FINE = 'Si c’était vous, ou si vous l’avez demandé, vous n’avez rien à faire.'
const INTRUDER =
  'Si ce n’était pas vous\u00a0: modifiez immédiatement votre mot de passe, ce qui ferme toutes les autres sessions, et vérifiez les moyens de connexion à votre compte.'
const signInChanged = signInChange({ account: ({ title }) => `\u00a0: votre compte ${title}`, notes: [FINE, INTRUDER] })

export const FR: MailTexts = {
  duration: durationIn('fr'),
  time: timeIn('fr'),
  greeting: 'Bonjour,',
  greetingTo: (name) => `Bonjour ${name},`,
  footer: ({ title, email }) =>
    `Cet e-mail a été envoyé par ${title} à ${email}. Merci de ne pas y répondre\u00a0: les réponses ne sont pas lues.`,
  plainLink: 'Si le bouton ne fonctionne pas, copiez ce lien dans votre navigateur\u00a0:',
  linkWorks: (lifetime) => `Ce lien est valable ${lifetime} et ne peut être utilisé qu’une seule fois.`,
  codeWorks: (lifetime) => `Ce code est valable ${lifetime} et ne peut être utilisé qu’une seule fois.`,
  eitherWorks: (lifetime) => `Le code et le lien sont valables ${lifetime}. Vous ne pouvez utiliser que l’un des deux, une seule fois.`,
  moreKeys: (count) => plural(count, { one: `et ${count} autre`, other: `et ${count} autres` }),
  keyWithoutPrefix: 'une clé sans préfixe connu',
  keyWithPrefix: (prefix) => `une clé qui commence par ${prefix}`,
  mails: {
    verify: {
      subject: ({ title }) => `Confirmez votre adresse e-mail pour ${title}`,
      heading: 'Confirmez votre adresse e-mail',
      intro: ({ title, email }) =>
        `Bienvenue sur ${title}. Pour activer votre compte, ouvrez le lien ci-dessous et confirmez que ${email} est bien votre adresse.`,
      action: 'Confirmer l’adresse e-mail',
      note: 'Si vous n’avez pas créé ce compte, ignorez cet e-mail. Le compte ne peut pas être utilisé sans ce lien.',
    },
    reset: {
      subject: ({ title }) => `Réinitialisez votre mot de passe pour ${title}`,
      heading: 'Réinitialisez votre mot de passe',
      intro: ({ title, email }) =>
        `Nous avons reçu une demande de réinitialisation du mot de passe ${title} pour ${email}. Ouvrez le lien ci-dessous pour choisir un nouveau mot de passe.`,
      action: 'Choisir un nouveau mot de passe',
      note: 'Si vous n’êtes pas à l’origine de cette demande, ignorez cet e-mail. Votre mot de passe reste inchangé. Ne communiquez ce lien à personne.',
    },
    email_change: {
      subject: ({ title }) => `Confirmez votre nouvelle adresse e-mail pour ${title}`,
      heading: 'Confirmez votre nouvelle adresse e-mail',
      intro: ({ title, email }) =>
        `Nous avons reçu une demande pour utiliser ${email} comme adresse d’un compte ${title}. Ouvrez le lien ci-dessous pour confirmer qu’il s’agit bien de votre adresse.`,
      action: 'Confirmer l’adresse e-mail',
      note: 'Si vous n’êtes pas à l’origine de cette demande, ignorez cet e-mail et n’ouvrez pas le lien. Sans lui, aucun compte n’utilisera votre adresse.',
    },
    sign_in: {
      subject: ({ title }) => `Votre code de connexion pour ${title}`,
      heading: 'Votre code de connexion',
      intro: ({ title, email }) =>
        `Nous avons reçu une demande de connexion à ${title} avec l’adresse ${email}. Saisissez ce code là où vous avez demandé à vous connecter, ou ouvrez le lien\u00a0:`,
      action: 'Se connecter',
      note: 'Si vous n’êtes pas à l’origine de cette demande, ignorez cet e-mail. Personne ne peut se connecter sans le code ou le lien. Ne les communiquez à personne.',
    },
    invitation: {
      subject: ({ title }) => `Votre invitation à rejoindre ${title}`,
      heading: 'Votre invitation',
      intro: ({ title, email }) =>
        `Vous avez reçu une invitation à rejoindre ${title} avec l’adresse ${email}. Ouvrez le lien ci-dessous pour choisir un mot de passe et vous connecter.`,
      action: 'Accepter l’invitation',
      note: 'Si vous ne vous y attendiez pas, ignorez cet e-mail. Aucun compte n’existe tant que vous n’avez pas accepté.',
    },
  },
  notices: {
    password_changed: {
      subject: ({ title }) => `Votre mot de passe pour ${title} a été modifié`,
      heading: 'Votre mot de passe a été modifié',
      intro: ({ title, email, time }) => `Le mot de passe du compte ${title} associé à l’adresse ${email} a été modifié le ${time}.`,
      notes: () => [
        FINE,
        'Si ce n’était pas vous\u00a0: demandez la réinitialisation du mot de passe là où vous vous connectez, ce qui ferme toutes les sessions du compte. Supprimez ensuite les clés API que vous ne reconnaissez pas.',
      ],
    },
    email_changed: {
      subject: ({ title }) => `L’adresse e-mail de votre compte ${title} a été modifiée`,
      heading: 'Votre adresse e-mail a été modifiée',
      intro: ({ title, email, time }) =>
        `Le compte ${title} associé à l’adresse ${email} a changé d’adresse le ${time}. C’est le dernier e-mail à ce sujet que vous recevrez à cette adresse.`,
      notes: ({ title }) => [
        FINE,
        `Si ce n’était pas vous\u00a0: contactez immédiatement l’exploitant du service ${title}, car un e-mail de réinitialisation du mot de passe ne vous parviendra plus à cette adresse.`,
      ],
    },
    admin_role: {
      subject: ({ title }) => `Votre compte ${title} est désormais administrateur`,
      heading: 'Votre compte est désormais administrateur',
      intro: ({ title, email, time }) =>
        `Le compte ${title} associé à l’adresse ${email} a reçu le rôle d’administrateur le ${time}. Il peut désormais modifier et supprimer les comptes de tous les utilisateurs.`,
      notes: ({ title }) => [
        FINE,
        `Si vous ne vous y attendiez pas\u00a0: modifiez votre mot de passe et prévenez les autres administrateurs ou l’exploitant du service ${title}.`,
      ],
    },
    key_leaked: {
      subject: ({ title }) => `Une clé API de votre compte ${title} a été trouvée en accès public`,
      heading: 'Une clé API a été trouvée en accès public',
      intro: ({ title, email, time }) =>
        `Une clé API du compte ${title} associé à l’adresse ${email} a été trouvée en accès public, signalée le ${time} et désactivée. Les programmes qui l’utilisent sont refusés.`,
      notes: () => [
        'Créez une nouvelle clé pour les programmes qui en ont besoin et ne la laissez dans aucun fichier public. Il ne suffit pas de supprimer l’ancienne là où elle a été trouvée\u00a0: des copies peuvent exister.',
        'Vérifiez ce qui a été fait avec cette clé. Si vous ne la reconnaissez pas, supprimez-la et modifiez votre mot de passe.',
      ],
    },
    factor_added: signInChanged({
      heading: 'Les codes d’une application ont été configurés',
      intro: ({ title, email, time }) =>
        `Les codes d’une application, ou de nouveaux codes de secours, ont été configurés le ${time} pour la connexion au compte ${title} associé à l’adresse ${email}.`,
    }),
    factor_removed: signInChanged({
      heading: 'Les codes d’une application ont été désactivés',
      intro: ({ title, email, time }) =>
        `Les codes d’une application ont été désactivés le ${time} pour la connexion au compte ${title} associé à l’adresse ${email}.`,
    }),
    factor_reset: signInChanged({
      heading: 'Votre second facteur a été réinitialisé',
      intro: ({ title, email, time }) =>
        `Le ${time}, un administrateur a supprimé les codes d’une application, les codes de secours et les clés d’accès du compte ${title} associé à l’adresse ${email}.`,
      advice: 'Si vous ne l’avez pas demandé\u00a0: modifiez immédiatement votre mot de passe et prévenez l’exploitant du service.',
    }),
    passkey_added: signInChanged({
      heading: 'Une clé d’accès a été ajoutée',
      intro: ({ title, email, time }) =>
        `Une clé d’accès a été ajoutée le ${time} au compte ${title} associé à l’adresse ${email}. Elle permet de s’y connecter.`,
    }),
    passkey_removed: signInChanged({
      heading: 'Une clé d’accès a été supprimée',
      intro: ({ title, email, time }) =>
        `Une clé d’accès du compte ${title} associé à l’adresse ${email} a été supprimée le ${time}. Elle ne permet plus de s’y connecter.`,
    }),
    provider_connected: signInChanged({
      heading: 'Un compte d’un autre fournisseur a été associé',
      intro: ({ title, email, time }) =>
        `Un compte d’un autre fournisseur a été associé le ${time} au compte ${title} dont l’adresse est ${email}. Il permet de s’y connecter.`,
    }),
    provider_disconnected: signInChanged({
      heading: 'Un compte d’un autre fournisseur a été dissocié',
      intro: ({ title, email, time }) =>
        `Un compte d’un autre fournisseur a été dissocié le ${time} du compte ${title} dont l’adresse est ${email}. Il ne permet plus de s’y connecter.`,
    }),
    recovery_code_used: signInChanged({
      heading: 'Un code de secours a été utilisé',
      intro: ({ title, email, time }) =>
        `Un code de secours a été utilisé le ${time} pour se connecter au compte ${title} associé à l’adresse ${email}.`,
    }),
  },
}
