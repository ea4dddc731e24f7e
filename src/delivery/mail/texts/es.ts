import type { MailTexts } from './en.ts'
import { durationIn, signInChange, timeIn } from './formats.ts'

const FINE = 'Si has sido tú, o si lo has solicitado, no tienes que hacer nada.'
const INTRUDER =
  'Si no has sido tú: cambia tu contraseña de inmediato, con lo que se cierran todas las demás sesiones, y comprueba de qué formas se puede iniciar sesión en tu cuenta.'
const signInChanged = signInChange({ account: ({ title }) => `: tu cuenta de ${title}`, notes: [FINE, INTRUDER] })

export const ES: MailTexts = {
  duration: durationIn('es'),
  time: timeIn('es'),
  greeting: 'Hola:',
  greetingTo: (name) => `Hola, ${name}:`,
  footer: ({ title, email }) => `${title} ha enviado este correo a ${email}. No respondas a este mensaje: las respuestas no se leen.`,
  plainLink: 'Si el botón no funciona, copia este enlace en tu navegador:',
  linkWorks: (lifetime) => `El enlace funciona una sola vez y caduca en ${lifetime}.`,
  codeWorks: (lifetime) => `El código funciona una sola vez y caduca en ${lifetime}.`,
  eitherWorks: (lifetime) => `El código y el enlace caducan en ${lifetime}. Solo puedes usar uno de los dos, una sola vez.`,
  moreKeys: (count) => `y ${count} más`,
  keyWithoutPrefix: 'una clave sin prefijo conocido',
  keyWithPrefix: (prefix) => `una clave que empieza por ${prefix}`,
  mails: {
    verify: {
      subject: ({ title }) => `Verifica tu correo electrónico para ${title}`,
      heading: 'Verifica tu correo electrónico',
      intro: ({ title, email }) =>
        `Te damos la bienvenida a ${title}. Para activar tu cuenta, abre el enlace de abajo y confirma que ${email} es tu dirección.`,
      action: 'Verificar el correo electrónico',
      note: 'Si no has creado esta cuenta, ignora este correo. La cuenta no se puede usar sin el enlace.',
    },
    reset: {
      subject: ({ title }) => `Restablece tu contraseña de ${title}`,
      heading: 'Restablece tu contraseña',
      intro: ({ title, email }) =>
        `Hemos recibido una solicitud para restablecer la contraseña de ${email} en ${title}. Abre el enlace de abajo para elegir una contraseña nueva.`,
      action: 'Elegir una contraseña nueva',
      note: 'Si no lo has solicitado, ignora este correo. Tu contraseña no cambiará. No compartas el enlace con nadie.',
    },
    email_change: {
      subject: ({ title }) => `Confirma tu correo electrónico nuevo para ${title}`,
      heading: 'Confirma tu correo electrónico nuevo',
      intro: ({ title, email }) =>
        `Hemos recibido una solicitud para usar ${email} como dirección de una cuenta de ${title}. Abre el enlace de abajo para confirmar que es tu dirección.`,
      action: 'Confirmar el correo electrónico',
      note: 'Si no lo has solicitado, ignora este correo y no abras el enlace. Sin él, ninguna cuenta usará tu dirección.',
    },
    sign_in: {
      subject: ({ title }) => `Tu código para iniciar sesión en ${title}`,
      heading: 'Tu código para iniciar sesión',
      intro: ({ title, email }) =>
        `Hemos recibido una solicitud para iniciar sesión en ${title} como ${email}. Escribe este código donde has pedido iniciar sesión, o abre el enlace:`,
      action: 'Iniciar sesión',
      note: 'Si no lo has solicitado, ignora este correo. Nadie puede iniciar sesión sin el código o el enlace. No los compartas con nadie.',
    },
    invitation: {
      subject: ({ title }) => `Tu invitación a ${title}`,
      heading: 'Tu invitación',
      intro: ({ title, email }) =>
        `Has recibido una invitación a ${title} con la dirección ${email}. Abre el enlace de abajo para elegir una contraseña e iniciar sesión.`,
      action: 'Aceptar la invitación',
      note: 'Si no la esperabas, ignora este correo. No se creará ninguna cuenta hasta que aceptes la invitación.',
    },
  },
  notices: {
    password_changed: {
      subject: ({ title }) => `Se ha cambiado tu contraseña de ${title}`,
      heading: 'Se ha cambiado tu contraseña',
      intro: ({ title, email, time }) => `La contraseña de la cuenta de ${title} con la dirección ${email} se cambió el ${time}.`,
      notes: () => [
        FINE,
        'Si no has sido tú: solicita restablecer la contraseña donde inicias sesión, con lo que se cierran todas las sesiones de la cuenta. Después, elimina las claves de API que no reconozcas.',
      ],
    },
    email_changed: {
      subject: ({ title }) => `Se ha cambiado el correo electrónico de tu cuenta de ${title}`,
      heading: 'Se ha cambiado tu correo electrónico',
      intro: ({ title, email, time }) =>
        `La cuenta de ${title} con la dirección ${email} pasó a tener otra dirección el ${time}. Este es el último correo sobre ella que recibirás en esta dirección.`,
      notes: ({ title }) => [
        FINE,
        `Si no has sido tú: ponte en contacto de inmediato con el responsable de ${title}, porque en esta dirección ya no recibirás los correos para restablecer la contraseña.`,
      ],
    },
    admin_role: {
      subject: ({ title }) => `Tu cuenta de ${title} ahora es de administrador`,
      heading: 'Tu cuenta ahora es de administrador',
      intro: ({ title, email, time }) =>
        `La cuenta de ${title} con la dirección ${email} recibió el rol de administrador el ${time}. Ahora puede modificar y eliminar las cuentas de todos los usuarios.`,
      notes: ({ title }) => [
        FINE,
        `Si no lo esperabas: cambia tu contraseña y avisa a los demás administradores o al responsable de ${title}.`,
      ],
    },
    key_leaked: {
      subject: ({ title }) => `Se ha encontrado una clave de API de tu cuenta de ${title} expuesta públicamente`,
      heading: 'Se ha encontrado una clave de API expuesta públicamente',
      intro: ({ title, email, time }) =>
        `Una clave de API de la cuenta de ${title} con la dirección ${email} se encontró expuesta públicamente, se notificó el ${time} y se desactivó. Los programas que la usan ya no tienen acceso.`,
      notes: () => [
        'Crea una clave nueva para los programas que la necesiten y mantenla fuera de los archivos públicos. No basta con borrar la antigua del lugar donde se encontró: puede haber copias.',
        'Comprueba qué se ha hecho con la clave. Si no la reconoces, elimínala y cambia tu contraseña.',
      ],
    },
    factor_added: signInChanged({
      heading: 'Se han configurado los códigos de una aplicación',
      intro: ({ title, email, time }) =>
        `El ${time} se configuraron los códigos de una aplicación, o códigos de recuperación nuevos, para iniciar sesión en la cuenta de ${title} con la dirección ${email}.`,
    }),
    factor_removed: signInChanged({
      heading: 'Se han desactivado los códigos de una aplicación',
      intro: ({ title, email, time }) =>
        `El ${time} se desactivaron los códigos de una aplicación para iniciar sesión en la cuenta de ${title} con la dirección ${email}.`,
    }),
    factor_reset: signInChanged({
      heading: 'Se ha restablecido tu segundo factor',
      intro: ({ title, email, time }) =>
        `El ${time}, un administrador quitó los códigos de una aplicación, los códigos de recuperación y las llaves de acceso de la cuenta de ${title} con la dirección ${email}.`,
      advice: 'Si no lo has solicitado: cambia tu contraseña de inmediato y avisa al responsable del servicio.',
    }),
    passkey_added: signInChanged({
      heading: 'Se ha añadido una llave de acceso',
      intro: ({ title, email, time }) =>
        `El ${time} se añadió una llave de acceso para iniciar sesión en la cuenta de ${title} con la dirección ${email}.`,
    }),
    passkey_removed: signInChanged({
      heading: 'Se ha quitado una llave de acceso',
      intro: ({ title, email, time }) => `El ${time} se quitó una llave de acceso de la cuenta de ${title} con la dirección ${email}.`,
    }),
    provider_connected: signInChanged({
      heading: 'Se ha vinculado una cuenta de otro proveedor',
      intro: ({ title, email, time }) =>
        `El ${time} se vinculó una cuenta de otro proveedor para iniciar sesión en la cuenta de ${title} con la dirección ${email}.`,
    }),
    provider_disconnected: signInChanged({
      heading: 'Se ha desvinculado una cuenta de otro proveedor',
      intro: ({ title, email, time }) =>
        `El ${time} se desvinculó de la cuenta de ${title} con la dirección ${email} una cuenta de otro proveedor.`,
    }),
    recovery_code_used: signInChanged({
      heading: 'Se ha usado un código de recuperación',
      intro: ({ title, email, time }) =>
        `El ${time} se usó un código de recuperación para iniciar sesión en la cuenta de ${title} con la dirección ${email}.`,
    }),
  },
}
